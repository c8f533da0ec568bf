// csrc/cpu/coverage/module_counts.cpp - adds up the counts of functions.
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

}  // namespace cupola::cpu::coverage
