// csrc/cpu/coverage/plan.hpp - which counters the functions of a module have.
//
// A counter belongs to a piece of straight code, a branch or a table of branches. Functions are
// described before they are decoded, so that the counters of a module do not depend on the kernels
// that a program takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ptx/line_table.hpp"
#include "ptx/program.hpp"

namespace cupola::cpu::coverage {

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
    std::uint32_t instruction;  // counts before this one
    std::uint32_t word;         // its first one, in the function
    std::vector<Site> sites;    // the lines of the code, or that of the branch
    std::vector<Site> sides;    // where each side of a branch leads; line 0: out of the function
};

struct FunctionPlan {
    std::string name;
    bool entry = false;
    std::uint32_t words = 0;
    std::vector<Counter> counters;  // by instruction
    // The counters before an instruction.
    std::pair<const Counter*, const Counter*> before(std::uint32_t instruction) const;
};

struct ModulePlan {
    ptx::LineTable lines;
    std::vector<FunctionPlan> functions;  // by function of the module
};

// `text` is the text of the module.
ModulePlan place_counters(const ptx::Module& module, std::string_view text);

}  // namespace cupola::cpu::coverage
