// csrc/cpu/coverage/plan.hpp - which counters the functions of a module have.
//
// Functions are described before they are decoded, so that the counters of a module do not depend
// on the kernels that a program takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/observe/counters.hpp"
#include "ptx/line_table.hpp"
#include "ptx/program.hpp"

namespace cupola::cpu::coverage {

using observe::Counter;
using observe::Site;

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
