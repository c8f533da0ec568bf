// csrc/ptx/target_check.hpp - checks that a module's target has an instruction.
#pragma once

#include <string>
#include <string_view>

#include "ptx/match.hpp"

namespace cupola::ptx {

// Returns an empty text if the target has the candidate's row and the modifiers of the opcode, else
// the reason why not.
std::string check_target(const Candidate& candidate, std::string_view opcode, Target target);

}  // namespace cupola::ptx
