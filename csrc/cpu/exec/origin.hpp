// csrc/cpu/exec/origin.hpp - maps a handler to the instruction it executes.
//
// Machine code is printed from that instruction.
#pragma once

#include "cpu/exec/isa.hpp"

namespace cupola::cpu::exec {

struct Origin {
    ptx::FormId form;
    Key key;
    bool by_lane = false;  // its semantics is a function of one lane
};

// Finds a handler for this processor, and records its instruction.
Handler find_handler(ptx::FormId form, Key key);
// False for handlers of control flow and of parameter loads.
bool find_origin(Handler handler, Origin& origin);

}  // namespace cupola::cpu::exec
