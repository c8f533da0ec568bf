// csrc/cpu/interpreter/device_call.hpp - calls of the device runtime.
#pragma once

#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {

// Calls the site's function for a lane whose frame is at `frame`. False: a fault has been noted.
bool call_device_function(BlockState& block, Warp& w, const DecodedOp* ip, unsigned lane,
                          std::byte* frame, const CallSite& site);

}  // namespace cupola::cpu::interpreter
