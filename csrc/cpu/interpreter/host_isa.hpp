// csrc/cpu/interpreter/host_isa.hpp - the handlers for this processor's instruction set.
#pragma once

#include "cpu/isa/handler_table.hpp"

namespace cupola::cpu::interpreter {

// The handlers of the best level that this processor supports and use_level() allows.
const Isa& isa();

}  // namespace cupola::cpu::interpreter
