// csrc/cpu/coverage/module_counts.hpp - the counts of a module's functions, by context.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cpu/coverage/plan.hpp"

namespace cupola::cpu::coverage {

// The counts of a module's functions. Thread-safe.
class ModuleCounts {
  public:
    ModuleCounts(std::string digest, ModulePlan made)
        : digest(std::move(digest)), plan(std::move(made)) {}

    const std::string digest;  // of the text
    const ModulePlan plan;

    using Words = std::vector<std::uint64_t>;
    using ByFunction = std::map<std::uint32_t, Words>;
    void add(std::uint32_t context, std::uint32_t function, const std::uint64_t* words);
    std::map<std::uint32_t, ByFunction> take();  // by context; then there are none

  private:
    std::mutex mutex_;
    std::map<std::uint32_t, ByFunction> counts_;
};

// The counters of a kernel: those of its functions, one function after the other.
struct KernelCounters {
    struct Part {
        std::uint32_t function, word;
    };
    std::shared_ptr<ModuleCounts> module;  // null: nothing is counted
    std::vector<Part> parts;
    std::uint32_t words = 0;

    void add_function(std::uint32_t function);
    void add(std::uint32_t context, const std::vector<std::uint64_t>& counts) const;
};

}  // namespace cupola::cpu::coverage
