// csrc/cpu/interpreter/decoded_origin.hpp - the instruction that a piece of decoded code executes.
//
// Handlers do not tell: instructions that do the same share one.
#pragma once

#include "cpu/isa/handler_table.hpp"

namespace cupola::cpu::interpreter {

struct Origin {
    ptx::FormId form;
    Key key;
    bool by_lane = false;  // the semantics of the row is a function of one lane
};

}  // namespace cupola::cpu::interpreter
