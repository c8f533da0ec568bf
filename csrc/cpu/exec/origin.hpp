// csrc/cpu/exec/origin.hpp - which instruction a handler was found for: what decoded code is
// printed from.
#pragma once

#include "cpu/exec/isa.hpp"

namespace cupola::cpu::exec {

struct Origin {
    ptx::FormId form;
    Key key;
    bool by_lane = false;  // its semantics is a function of one lane
};

// Finds a handler of this processor's, and remembers what for.
Handler find_handler(ptx::FormId form, Key key);
// False: a handler of control flow, or of a parameter's load.
bool find_origin(Handler handler, Origin& origin);

}  // namespace cupola::cpu::exec
