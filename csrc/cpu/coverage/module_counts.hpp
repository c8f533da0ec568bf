// csrc/cpu/coverage/module_counts.hpp - the counts of a module's functions, by context.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cpu/coverage/plan.hpp"

namespace cupola::cpu::coverage {

// The counts of a module's functions. Thread-safe.
class ModuleCounts final : public observe::ModuleCounters {
  public:
    ModuleCounts(std::string digest, ModulePlan made)
        : digest(std::move(digest)), plan(std::move(made)) {}

    const std::string digest;  // digest of the PTX text
    const ModulePlan plan;

    using Words = std::vector<std::uint64_t>;
    using ByFunction = std::map<std::uint32_t, Words>;
    std::pair<const Counter*, const Counter*> before(std::uint32_t function,
                                                     std::uint32_t instruction) const override {
        return plan.functions[function].before(instruction);
    }
    std::uint32_t words(std::uint32_t function) const override {
        return plan.functions[function].words;
    }
    void add(std::uint32_t context, std::uint32_t function, const std::uint64_t* words) override;
    // Returns the counts by context, and keeps none.
    std::map<std::uint32_t, ByFunction> take();

  private:
    std::mutex mutex_;
    std::map<std::uint32_t, ByFunction> counts_;
};

}  // namespace cupola::cpu::coverage
