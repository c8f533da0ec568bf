// csrc/cpu/emitter/source.hpp - printed kernels: functions that a compiler can take one by one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cupola::cpu::compiler {

struct Source {
    std::string common;                  // what each of the functions may want declared
    std::vector<std::string> functions;  // in any order, in any number of files

    std::size_t size() const;
    void add(Source more);
    // All of it for so many files: the n-th is what is left where CUPOLA_FILE is n. For one file
    // nothing has to be defined.
    std::string text(std::size_t files = 1) const;
    // How many files are worth it where so many can be compiled at once.
    std::size_t files(std::size_t most) const;
};

}  // namespace cupola::cpu::compiler
