// csrc/cpu/interpreter/stack_decoder.cpp - alloca: local memory that lives until the function
// returns. It is above all frames.
#include "cpu/interpreter/stack_decoder.hpp"

#include <algorithm>

#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {
namespace {

// op: [0] address in local memory, [1] bytes, [2] the end of alloca's memory; imm: alignment.
template <class T>
[[gnu::noinline]] const DecodedOp* allocate_local(const DecodedOp* ip, Warp& w, std::byte* r) {
    T* d = at<T>(r, ip->op[0]);
    const T* size = at<const T>(r, ip->op[1]);
    auto* top = at<std::uint32_t>(r, ip->op[2]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const std::uint64_t from = rounded(top[lane], static_cast<std::uint64_t>(ip->imm));
        if (!fits(from, size[lane], w.block->local_bytes)) {
            w.block->fault(w, ip, Fault::Kind::stack_overflow, lane, "alloca of too many bytes",
                           size[lane]);
            return stop_faulted(w);
        }
        d[lane] = static_cast<T>(from);
        top[lane] = static_cast<std::uint32_t>(from + size[lane]);
    }
    return ip + 1;
}

// op: [1] result of stacksave, [2] the end of alloca's memory; imm: where that memory begins.
template <class T>
[[gnu::noinline]] const DecodedOp* restore_local(const DecodedOp* ip, Warp& w, std::byte* r) {
    const T* saved = at<const T>(r, ip->op[1]);
    auto* top = at<std::uint32_t>(r, ip->op[2]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (saved[lane] > top[lane]) {
            w.block->fault(w, ip, Fault::Kind::illegal_address, lane,
                           "stackrestore of a value that stacksave did not return", saved[lane]);
            return stop_faulted(w);
        }
        top[lane] = static_cast<std::uint32_t>(saved[lane]);
    }
    return ip + 1;
}

// 0: the alignment is invalid.
std::uint32_t alloca_align(const ptx::Function& f, const ptx::Instruction& i) {
    const std::int64_t align = i.operands > 2 ? f.operands[i.operand + 2].value : 8;
    if (align <= 0 || align > (1 << 16) || (align & (align - 1)) != 0) return 0;
    return static_cast<std::uint32_t>(std::max<std::int64_t>(align, 8));
}

}  // namespace

bool StackDecoder::allocates(const ptx::Function& f) {
    for (const ptx::Instruction& i : f.code)
        if (i.form.opcode() == Opcode::alloca_) return true;
    return false;
}

std::uint32_t StackDecoder::local_align(const ptx::Function& f) {
    std::uint32_t most = 1;
    for (std::size_t n = f.entry ? f.formals.size() : 0; n < f.frame.size(); ++n)
        most = std::max(most, f.frame[n].align);
    for (const ptx::Instruction& i : f.code)
        if (i.form.opcode() == Opcode::alloca_) most = std::max(most, alloca_align(f, i));
    return most;
}

void StackDecoder::decode(const ptx::Instruction& i) {
    const bool wide = ptx::bytes_of(i.type) == 8;
    const std::int32_t top = registers_.special(Hidden::local_top, 4);
    if (i.form.opcode() == Opcode::stacksave) {
        code_.emit(wide ? "cvt.u64.u32" : "mov.u32",
                   operands_.destination(functions_.operand(i, 0)), top);
        return;
    }
    if (i.form.opcode() == Opcode::stackrestore) {
        code_.emit(wide ? &threaded<&restore_local<std::uint64_t>>
                        : &threaded<&restore_local<std::uint32_t>>,
                   0, operands_.source(functions_.operand(i, 0), i.type), top);
        return;
    }
    const std::uint32_t align = alloca_align(functions_.current(), i);
    if (align == 0) code_.fail(i.line, "the alignment of alloca is not a power of two");
    code_
        .emit(wide ? &threaded<&allocate_local<std::uint64_t>>
                   : &threaded<&allocate_local<std::uint32_t>>,
              operands_.destination(functions_.operand(i, 0)),
              operands_.source(functions_.operand(i, 1), i.type), top)
        .imm = align;
}

}  // namespace cupola::cpu::interpreter
