// csrc/cpu/emitted/outlined_access.hpp - loads and stores of split kernels, as outlined functions.
//
// They handle inactive lanes and addresses that are not affine. Each is compiled once for all
// accesses, and includes the call of the handler.
#pragma once

#include "cpu/emitted/access.hpp"
#include "cpu/emitted/handler_runs.hpp"

namespace cupola::cpu::CUPOLA_ISA {

struct AccessSite {
    std::uint32_t slot, op;
    std::int64_t offset, base_offset;  // added to the address, or to the checked address
    // Offsets of the operands in the register file; 0: the operand is in its buffer already.
    std::int32_t address, values[4];
};
// Always inlined: GCC 13.2 misses that a function which it does not inline reads arguments that it
// passes on by value, and drops the stores to them.
template <unsigned E>
CUPOLA_INLINE void spill_operand(const Lanes<E>& v, std::byte* r, std::int32_t offset) {
    if (offset != 0) *reinterpret_cast<Lanes<E>*>(r + offset) = v;
}
template <class T>
CUPOLA_INLINE void spill_operand(Uniform<T> o, std::byte* r, std::int32_t offset) {
    if (offset != 0) spill_uniform(o.value, r, offset);
}
// The caller passes copies of its operands, so no variable's address escapes.
template <class T, Window W, std::int64_t S, class A, class... D>
[[gnu::noinline]] const DecodedOp* load_outlined(Warp& w, std::uint32_t mask, std::byte* r,
                                                 const RuntimeCallbacks& s, const AccessSite& site,
                                                 CheckedAddress checked, const A& address,
                                                 D&... to) {
    const DecodedOp* const next_op = s.code + site.op + 1;
    if (checked.holds) {
        load_affine_masked<T, S>(checked, site.base_offset, mask, to...);
        return next_op;
    }
    if (load<T, W>(w, mask, site.slot, address, site.offset, to...)) return next_op;
    spill_operand(address, r, site.address);
    unsigned k = 0;
    (spill_operand(to, r, site.values[k++]), ...);
    const DecodedOp* const next = run_handler(w, mask, r, s, site.op);
    k = 0;
    ((to = *reinterpret_cast<const D*>(r + site.values[k++])), ...);
    return next;
}
template <class T, Window W, std::int64_t S, class A, class... V>
[[gnu::noinline]] const DecodedOp* store_outlined(Warp& w, std::uint32_t mask, std::byte* r,
                                                  const RuntimeCallbacks& s, const AccessSite& site,
                                                  CheckedAddress checked, const A& address,
                                                  const V&... values) {
    const DecodedOp* const next_op = s.code + site.op + 1;
    if (checked.holds) {
        store_affine_masked<T, S>(checked, site.base_offset, mask, values...);
        return next_op;
    }
    if (store<T, W>(w, mask, site.slot, address, site.offset, values...)) return next_op;
    spill_operand(address, r, site.address);
    unsigned k = 0;
    (spill_operand(values, r, site.values[k++]), ...);
    return run_handler(w, mask, r, s, site.op);
}

}  // namespace cupola::cpu::CUPOLA_ISA
