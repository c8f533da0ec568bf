// csrc/cpu/coverage/module_counts.cpp - adds the counts of kernels to those of their functions.
#include "cpu/coverage/module_counts.hpp"

namespace cupola::cpu::coverage {

void ModuleCounts::add(std::uint32_t context, std::uint32_t function, const std::uint64_t* words) {
    std::lock_guard lock(mutex_);
    Words& sum = counts_[context][function];
    sum.resize(plan.functions[function].words);
    for (std::size_t n = 0; n < sum.size(); ++n) sum[n] += words[n];
}

std::map<std::uint32_t, ModuleCounts::ByFunction> ModuleCounts::take() {
    std::lock_guard lock(mutex_);
    return std::exchange(counts_, {});
}

void KernelCounters::add_function(std::uint32_t function) {
    parts.push_back({function, words});
    words += module->plan.functions[function].words;
}

void KernelCounters::add(std::uint32_t context, const std::vector<std::uint64_t>& counts) const {
    for (const Part& part : parts)
        if (module->plan.functions[part.function].words != 0)
            module->add(context, part.function, counts.data() + part.word);
}

}  // namespace cupola::cpu::coverage
