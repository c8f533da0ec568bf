// csrc/ptx/link.hpp - several PTX texts to one, as a linker would: names that are each text's own
// stay apart, what one declares and another defines becomes one.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace cupola::ptx {

class Linker {
  public:
    Linker();
    ~Linker();

    // Copies the text. Throws Error, and adds nothing, where the text is no PTX, or where it
    // defines a name that an earlier text defines, too.
    void add(std::string_view text);
    bool empty() const;

    // One text of the newest version and target among the inputs. Throws Error where a declaration
    // and a definition differ. The parser reports a name that no text defines.
    std::string linked() const;

  private:
    struct Inputs;
    std::unique_ptr<Inputs> inputs_;
};

}  // namespace cupola::ptx
