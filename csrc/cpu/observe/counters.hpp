// csrc/cpu/observe/counters.hpp - the counters that the decoder places in the code of a kernel.
//
// A counter belongs to a piece of straight code, a branch or a table of branches.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace cupola::cpu::observe {

// A line of the source in a function, or in an inlined call of it. Line 0: unknown.
struct Site {
    std::uint32_t scope = 0, file = 0, line = 0;
    bool operator<(const Site& other) const {
        return std::tie(scope, file, line) < std::tie(other.scope, other.file, other.line);
    }
    bool operator==(const Site& other) const { return !(*this < other) && !(other < *this); }
};

struct Counter {
    enum class Kind : std::uint8_t {
        lines,   // words: lanes, warps
        branch,  // words: lanes that take it, lanes that do not, warps that divide
        table,   // words: lanes, for each label
    };
    Kind kind;
    std::uint32_t instruction;  // number of counters before this one
    std::uint32_t word;         // its first counter, in the function
    std::vector<Site> sites;    // the source lines of the code, or the source line of the branch
    std::vector<Site> sides;    // where each side of a branch leads; line 0: out of the function
};

// The counters of a module's functions. Thread-safe.
class ModuleCounters {
  public:
    virtual ~ModuleCounters() = default;
    // The counters before an instruction of a function.
    virtual std::pair<const Counter*, const Counter*> before(std::uint32_t function,
                                                             std::uint32_t instruction) const = 0;
    virtual std::uint32_t words(std::uint32_t function) const = 0;
    virtual void add(std::uint32_t context, std::uint32_t function, const std::uint64_t* words) = 0;
};

// The counters of a kernel: those of its functions, one function after the other.
struct KernelCounters {
    struct Part {
        std::uint32_t function, word;
    };
    std::shared_ptr<ModuleCounters> module;  // null: nothing is counted
    std::vector<Part> parts;
    std::uint32_t words = 0;

    void add_function(std::uint32_t function);
    void add(std::uint32_t context, const std::vector<std::uint64_t>& counts) const;
};

}  // namespace cupola::cpu::observe
