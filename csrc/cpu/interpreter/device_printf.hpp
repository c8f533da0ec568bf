// csrc/cpu/interpreter/device_printf.hpp - printf and assert of device code.
#pragma once

#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {

// The printf of one thread: formats the text, and passes it to the launch. False: a fault has been
// noted.
bool print_formatted(BlockState& block, Warp& w, const DecodedOp* ip, unsigned lane,
                     std::uint64_t format, std::uint64_t arguments, std::int32_t& written);

// __assertfail(message, file, line, function, size of a character)
void report_assertion(BlockState& block, Warp& w, const DecodedOp* ip, unsigned lane,
                      const std::byte* frame, const CallSite& site);

}  // namespace cupola::cpu::interpreter
