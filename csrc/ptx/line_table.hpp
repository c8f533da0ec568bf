// csrc/ptx/line_table.hpp - the lines of the source that the lines of PTX came from, by the .loc
// and .file directives that compilers write with -lineinfo and -G.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cupola::ptx {

class LineTable {
  public:
    // A place in a source file. `scope` 0: the function itself; else an inlined call.
    struct Place {
        std::uint32_t ptx_line = 0;  // line of the .loc directive
        std::uint32_t scope = 0, file = 0, line = 0, column = 0;
    };
    // An inlined call: where it stands, and the scope that it stands in.
    struct Scope {
        std::uint32_t parent = 0, file = 0, line = 0, column = 0;
    };

    // Text is untrusted: a malformed directive is ignored. The time is linear.
    explicit LineTable(std::string_view text);

    // The place in force at a line of PTX; nullptr before a function's first .loc.
    const Place* at(std::uint32_t ptx_line) const;
    bool empty() const { return places_.empty(); }
    const std::vector<std::string>& files() const { return files_; }
    const std::vector<Scope>& scopes() const { return scopes_; }  // the first is the function

  private:
    void read_files(std::string_view text);
    void read_place(std::string_view rest, std::uint32_t ptx_line);
    bool read_numbers(std::string_view& rest, std::uint32_t (&numbers)[3]) const;

    std::vector<Place> places_;  // by line of PTX; file 0xffffffff ends a function
    std::vector<std::string> files_;
    std::vector<Scope> scopes_{Scope()};
    std::unordered_map<std::uint32_t, std::uint32_t> numbers_;  // index by number of .file
    // In the current function, the scope of the last .loc at a place, and the known scopes.
    std::unordered_map<std::string, std::uint32_t> last_, known_;
};

}  // namespace cupola::ptx
