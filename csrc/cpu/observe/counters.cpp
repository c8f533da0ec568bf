// csrc/cpu/observe/counters.cpp - gives the counts of a kernel to the functions of its module.
#include "cpu/observe/counters.hpp"

namespace cupola::cpu::observe {

void KernelCounters::add_function(std::uint32_t function) {
    parts.push_back({function, words});
    words += module->words(function);
}

void KernelCounters::add(std::uint32_t context, const std::vector<std::uint64_t>& counts) const {
    for (const Part& part : parts)
        if (module->words(part.function) != 0)
            module->add(context, part.function, counts.data() + part.word);
}

}  // namespace cupola::cpu::observe
