// csrc/cpu/emitter/source.hpp - emitted kernels: functions that can be compiled separately.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cupola::cpu::compiler {

struct Source {
    std::string common;                  // declarations that each function may need
    std::vector<std::string> functions;  // in any order, in any number of files

    std::size_t size() const;
    void add(Source more);
    // The text for so many files. With CUPOLA_FILE defined as n, it is the n-th file. For one file
    // no macro is needed.
    std::string text(std::size_t files = 1) const;
    // The number of files that pays off, at most `most`.
    std::size_t files(std::size_t most) const;
};

}  // namespace cupola::cpu::compiler
