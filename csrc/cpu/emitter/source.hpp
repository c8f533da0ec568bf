// csrc/cpu/emitter/source.hpp - emitted kernels: functions that can be compiled separately.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cupola::cpu::compiler {

struct Source {
    std::string common;                  // declarations that each function may need
    std::vector<std::string> functions;  // the functions, in any order and in any number of files

    std::size_t size() const;
    void add(Source more);
    // The text for `files` files. The macro CUPOLA_FILE is the number of the file to compile. One
    // file needs no macro.
    std::string text(std::size_t files = 1) const;
    // The number of files that pays off, at most `most`.
    std::size_t files(std::size_t most) const;
};

}  // namespace cupola::cpu::compiler
