// csrc/cpu/interpreter/atomic.cpp - decodes wide, vector and warp atomics.
//
// Atomics on vectors are atomic element by element. shfl and vote without .sync are the forms of
// PTX before member masks.
#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/decode.hpp"
#include "cpu/isa/wide.hpp"

namespace cupola::cpu::interpreter {
namespace {

// op: [0] old value, [1] generic address, [2] and [3] sources.
template <bool Compares>
[[gnu::noinline]] const DecodedOp* exchange128(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* address = at<const std::uint64_t>(r, ip->op[1]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (!block_of(w).reach(w, ip, lane, address[lane], 16, 16, observe::Touch::atomic))
            return stop_faulted(w);
        const Wide b = at<const Wide>(r, ip->op[2])[lane];
        Wide& old = at<Wide>(r, ip->op[0])[lane];
        if constexpr (Compares)
            old = compare_exchange_wide(address[lane], b, at<const Wide>(r, ip->op[3])[lane]);
        else
            old = exchange_wide(address[lane], b);
    }
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* check_alignment(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* address = at<const std::uint64_t>(r, ip->op[1]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (address[lane] % static_cast<std::uint64_t>(ip->imm) == 0) continue;
        w.block->fault(w, ip, Fault::Kind::misaligned_address, lane, "misaligned address",
                       address[lane]);
        return stop_faulted(w);
    }
    return ip + 1;
}

std::uint8_t order_flags(const ptx::Instruction& i) {
    const auto order = static_cast<ptx::Order>(field::order.get(i.modifiers));
    std::uint8_t flags = flag::strong;
    if (order == ptx::Order::acquire || order == ptx::Order::acq_rel) flags |= flag::acquire;
    if (order == ptx::Order::release || order == ptx::Order::acq_rel) flags |= flag::release;
    return flags;
}

}  // namespace

const Handler alignment_check = &threaded<&check_alignment>;

void Decoder::atomic(const ptx::Instruction& i) {
    if (field::vector.get(i.modifiers) != 0) return vector_atomic(i);
    if (i.type == Type::b128) return wide_atomic(i);
    memory(i);
}

void Decoder::wide_atomic(const ptx::Instruction& i) {
    const bool compares = i.form.form().operands.count == 4;
    const std::int32_t address =
        host_address(operand(i, 1), static_cast<ptx::Space>(field::space.get(i.modifiers)));
    const std::int32_t b = source(operand(i, 2), i.type);
    const std::int32_t c = compares ? source(operand(i, 3), i.type) : 0;
    const Handler run = compares ? &threaded<&exchange128<true>> : &threaded<&exchange128<false>>;
    emit(run, destination(operand(i, 0)), address, b, c).flags = flag::strong;
}

// Results are written after all elements are done: a destination may be a source too.
void Decoder::vector_atomic(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    const bool returns = form.operands.list[0] == OperandConstraint::dv;
    const ptx::Operand &m = operand(i, returns ? 1 : 0), &values = operand(i, returns ? 2 : 1);
    const std::int32_t address =
        host_address(m, static_cast<ptx::Space>(field::space.get(i.modifiers)));
    const unsigned width = ptx::bytes_of(i.type);
    emit(alignment_check, 0, address).imm = std::int64_t{width} * values.count;
    const BoundHandler run = handlers_.find(i.form, Key{i.type, i.type2, i.modifiers});
    if (!run) fail(i.line, "no handler for " + std::string(form.mnemonic));
    std::int32_t results[8] = {};
    for (unsigned k = 0; k < values.count; ++k) {
        const std::int32_t value = relaxed_source(f_->operands[values.index + k], i.type);
        if (returns) results[k] = temporary(width);
        DecodedOp& code = emit(run, results[k], value);
        code.op[4] = address;
        code.imm = k * width;
        code.flags = order_flags(i);
        code.slot = kernel_->slots++;
    }
    for (unsigned k = 0; returns && k < values.count; ++k) {
        const ptx::Operand& to = f_->operands[operand(i, 0).index + k];
        if (to.kind == Kind::reg)
            emit(width == 2 ? "mov.b16" : "mov.b32", reg(to.index), results[k]);
    }
}

// shfl and vote without .sync: the active lanes take part.
void Decoder::unsynchronised(const ptx::Instruction& i) {
    static constexpr const char* modes[] = {"",    "up",  "down", "bfly",   "idx",
                                            "all", "any", "uni",  "ballot", "wrap"};
    const std::int32_t here = temporary(4);
    emit("activemask.b32", here);
    const std::string mode = modes[field::mode.get(i.modifiers)];
    const ptx::Operand& d = operand(i, 0);
    if (i.form.opcode() != Opcode::shfl) {
        const std::int32_t p = predicate(operand(i, 1));
        emit(i.type == Type::pred ? "vote.sync." + mode + ".pred" : "vote.sync.ballot.b32",
             destination(d), p, here);
        return;
    }
    const std::int32_t a = source(operand(i, 1), Type::b32), b = source(operand(i, 2), Type::b32),
                       c = source(operand(i, 3), Type::b32);
    DecodedOp& code = emit("shfl.sync." + mode + ".b32", destination(d),
                           d.second != ptx::absent ? reg(d.second) : 0, a, b);
    code.op[4] = c;
    code.op[5] = here;
}

}  // namespace cupola::cpu::interpreter
