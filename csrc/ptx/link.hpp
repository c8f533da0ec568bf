// csrc/ptx/link.hpp - links several PTX texts into one. Names that are local to a text stay
// separate; a declaration in one text and a definition in another become one symbol.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace cupola::ptx {

class Linker {
  public:
    Linker();
    ~Linker();

    // Copies the text. Throws Error, and adds nothing, if the text is not valid PTX or defines a
    // name that an earlier text defines.
    void add(std::string_view text);
    bool empty() const;

    // The linked text, with the newest version and target of the inputs. Throws Error if a
    // declaration and its definition differ. The parser reports a name that no text defines.
    std::string linked() const;

  private:
    struct Inputs;
    std::unique_ptr<Inputs> inputs_;
};

}  // namespace cupola::ptx
