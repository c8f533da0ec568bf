// csrc/cpu/emitted/handler_runs.hpp - calls of the interpreter's handlers with some of a warp's
// lanes.
#pragma once

#include "cpu/emitted/lanes.hpp"

namespace cupola::cpu::CUPOLA_ISA {

inline const DecodedOp* run_handler(Warp& w, std::uint32_t mask, std::byte* r,
                                    const RuntimeCallbacks& s, std::uint32_t n) {
    const std::uint32_t running = w.mask;
    if (mask != running) s.set_mask(w, mask);
    const DecodedOp* const next = s.handlers[n](s.code + n, w, r);
    if (mask != running && next == s.code + n + 1) s.set_mask(w, running);
    return next;
}

// Runs operations `first` to `end` - 1 with the lanes of `mask`. Returns operation `end`, unless a
// handler continues elsewhere. A guard may skip operations.
[[gnu::noinline, gnu::cold]] inline const DecodedOp* run_handlers(Warp& w, std::uint32_t mask,
                                                                  std::byte* r,
                                                                  const RuntimeCallbacks& s,
                                                                  std::uint32_t first,
                                                                  std::uint32_t end) {
    const std::uint32_t running = w.mask;
    if (mask != running) s.set_mask(w, mask);
    const DecodedOp *next = s.code + first, *const last = s.code + end;
    while (next >= s.code + first && next < last) next = s.handlers[next - s.code](next, w, r);
    if (mask != running && next == last) s.set_mask(w, running);
    return next;
}

}  // namespace cupola::cpu::CUPOLA_ISA
