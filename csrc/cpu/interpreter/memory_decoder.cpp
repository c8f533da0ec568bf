// csrc/cpu/interpreter/memory_decoder.cpp - decodes loads, stores, atomics and multimem
// instructions.
//
// Atomics on vectors are atomic element by element.
#include "cpu/interpreter/memory_decoder.hpp"

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/host_isa.hpp"
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

// op: [1] address; imm: required alignment in bytes.
constexpr Handler alignment_check = &threaded<&check_alignment>;

// No device here has multicast memory (CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED is 0), so every
// address is of one device. An H200 then stores and reduces as `st` and `red` do. It reduces in
// global memory only, and faults at a load. op: [1] generic address.
template <bool Loads>
[[gnu::noinline]] const DecodedOp* of_one_device(const DecodedOp* ip, Warp& w, std::byte* r) {
    const BlockState& block = block_of(w);
    const auto* address = at<const std::uint64_t>(r, ip->op[1]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const auto own = reinterpret_cast<std::uintptr_t>(block.local_of(w, lane));
        const bool global = address[lane] - block.Block::cluster >= block.cluster_bytes &&
                            address[lane] - own >= block.local_bytes;
        if (global && !Loads) continue;
        w.block->fault(w, ip, global ? Fault::Kind::illegal_address : Fault::Kind::address_space,
                       lane, global ? "not a multicast address" : "not global memory",
                       address[lane]);
        return stop_faulted(w);
    }
    return ip + 1;
}

std::string plain_reduction(const ptx::Instruction& i) {
    const auto operation = static_cast<ptx::Atomic>(field::operation.get(i.modifiers));
    const bool halves = is_float(i.type) && i.type != ptx::Type::f32 && i.type != ptx::Type::f64;
    std::string name = "red." + std::string(spelled(operation));
    if (halves) name += operation == ptx::Atomic::add ? ".noftz" : ".noftz.v2";
    return name + "." + std::string(name_of(i.type));
}

}  // namespace

std::string_view spelled(ptx::Atomic operation) {
    static constexpr std::string_view names[] = {"add", "min", "max", "inc",  "dec",
                                                 "and", "or",  "xor", "exch", "cas"};
    return names[static_cast<unsigned>(operation)];
}

// op: [0..3] loaded or stored values, [4] the address; atomics: [0] result, [1] and [2] sources.
void MemoryDecoder::decode(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    const auto named = static_cast<ptx::Space>(field::space.get(i.modifiers));
    const bool parameter = named == ptx::Space::param || named == ptx::Space::entry_param;
    if (i.operands > 1 && parameter && functions_.operand(i, 1).kind == Kind::memory &&
        functions_.operand(i, 1).base == Kind::frame &&
        functions_.is_formal(functions_.operand(i, 1).index))
        return parameter_load(i);
    ptx::Instruction as = i;
    DecodedOp code;
    code.line = i.line;
    unsigned elements = 0;
    struct Widen {
        std::int32_t to, from;
        Type to_type, from_type;
    } widen[8];
    std::int32_t values[8] = {};
    unsigned widened = 0, count = 0;
    const unsigned width = ptx::bytes_of(i.type);
    const ptx::Operand* address_operand = nullptr;
    for (unsigned n = 0; n < form.operands.count; ++n) {
        const OperandConstraint shape = form.operands.list[n];
        const ptx::Operand& o = functions_.operand(i, n);
        if (shape == OperandConstraint::m) {
            address_operand = &o;
            continue;
        }
        if (shape == OperandConstraint::dv || shape == OperandConstraint::av) {
            count = o.kind == Kind::vector ? o.count : 1;
            for (unsigned k = 0; k < count; ++k) {
                const ptx::Operand& e = functions_.element(o, k);
                if (shape == OperandConstraint::av) {
                    values[k] = operands_.relaxed_source(e, i.type);
                    continue;
                }
                values[k] = operands_.destination(e);
                if (e.kind != Kind::reg || ptx::bytes_of(e.type) == width) continue;
                const bool sign = ptx::is_signed(i.type);
                widen[widened] = {values[k], registers_.temporary(width),
                                  resizable(ptx::bytes_of(e.type), sign), resizable(width, sign)};
                values[k] = widen[widened++].from;
            }
            continue;
        }
        // Atomics: the result, if any, is in slot 0; sources begin at slot 1.
        if (shape == OperandConstraint::d)
            code.op[0] = operands_.destination(o);
        else
            code.op[++elements] = operands_.source(o, i.type);
    }
    const ptx::Operand& m = *address_operand;
    ptx::Space space = addresses_.place_address(m, named, code);
    if (space == ptx::Space::cluster_shared) {
        // Converts the window's address to a generic one before the access.
        const std::int32_t host = registers_.temporary(8);
        DecodedOp& convert = code_.emit(cluster_control.generic_of_window, host, code.op[4]);
        convert.imm = code.imm;
        convert.flags = code.flags;
        code.op[4] = host;
        code.imm = 0;
        code.flags = 0;
        space = ptx::Space::generic;
    }
    as.modifiers =
        (i.modifiers & ~field::space.put(15)) | field::space.put(static_cast<unsigned>(space));
    const auto order = static_cast<ptx::Order>(field::order.get(i.modifiers));
    const bool atomic = ptx::is_atomic(form.opcode);
    if (order != ptx::Order::weak || atomic) code.flags |= flag::strong;
    if (order == ptx::Order::acquire || order == ptx::Order::acq_rel) code.flags |= flag::acquire;
    if (order == ptx::Order::release || order == ptx::Order::acq_rel) code.flags |= flag::release;
    code_.handlers().find(i.form, Key{as.type, as.type2, as.modifiers}).bind(code);
    if (!code.run) code_.fail(i.line, "no handler for " + std::string(form.mnemonic));
    if (count > 4) {
        in_halves(code, values, width);
    } else {
        for (unsigned k = 0; k < count; ++k) code.op[k] = values[k];
        code.count = static_cast<std::uint8_t>(count);
        code.slot = code_.take_slots();
        code_.append(code);
    }
    for (unsigned k = 0; k < widened; ++k)
        operands_.resize(widen[k].to, widen[k].to_type, widen[k].from, widen[k].from_type);
}

// A vector of 8 elements becomes two vectors of 4. The alignment of the whole vector is checked
// first.
void MemoryDecoder::in_halves(DecodedOp code, const std::int32_t* values, unsigned width) {
    const std::int32_t place = registers_.temporary(8);  // the load may overwrite the address
    code_.emit(code.flags & flag::address32 ? "cvt.u64.u32" : "mov.u64", place, code.op[4]);
    if (code.imm != 0)
        code_.emit("add.u64", place, place,
                   registers_.constant(8, static_cast<std::uint64_t>(code.imm)));
    code_.emit(alignment_check, 0, place).imm = std::int64_t{8} * width;
    code.flags &= static_cast<std::uint8_t>(~flag::address32);
    code.op[4] = place;
    code.count = 4;
    for (unsigned half = 0; half < 2; ++half) {
        for (unsigned k = 0; k < 4; ++k) code.op[k] = values[4 * half + k];
        code.imm = std::int64_t{4} * half * width;
        code.slot = code_.take_slots();
        code_.append(code);
    }
}

void MemoryDecoder::parameter_load(const ptx::Instruction& i) {
    const ptx::Operand &d = functions_.operand(i, 0), &m = functions_.operand(i, 1);
    const unsigned width = ptx::bytes_of(i.type), count = d.kind == Kind::vector ? d.count : 1;
    const std::uint64_t at =
        functions_.current().frame[m.index].offset + static_cast<std::uint64_t>(m.value);
    if (at > code_.kernel().parameter_bytes ||
        code_.kernel().parameter_bytes - at < std::uint64_t{width} * count)
        code_.fail(i.line, "a load outside of the kernel's parameters");
    if (at % width != 0) code_.fail(i.line, "a misaligned load of a parameter");
    for (unsigned k = 0; k < count; ++k) {
        const ptx::Operand& e = functions_.element(d, k);
        if (e.kind != Kind::reg) continue;
        const bool same = ptx::bytes_of(e.type) == width;
        const std::int32_t to = same ? operands_.reg(e.index) : registers_.temporary(width);
        const Handler load = isa().find_parameter_load(width);
        DecodedOp& code = code_.emit({load, Pseudo::load_parameter, width}, to);
        code.imm = static_cast<std::int64_t>(at + k * width);
        const bool sign = ptx::is_signed(i.type);
        if (!same)
            operands_.resize(operands_.reg(e.index), resizable(ptx::bytes_of(e.type), sign), to,
                             resizable(width, sign));
    }
}

void MemoryDecoder::atomic(const ptx::Instruction& i) {
    if (field::vector.get(i.modifiers) != 0) return vector_atomic(i);
    if (i.type == Type::b128) return wide_atomic(i);
    decode(i);
}

void MemoryDecoder::wide_atomic(const ptx::Instruction& i) {
    const bool compares = i.form.form().operands.count == 4;
    const std::int32_t address = addresses_.host_address(
        functions_.operand(i, 1), static_cast<ptx::Space>(field::space.get(i.modifiers)));
    const std::int32_t b = operands_.source(functions_.operand(i, 2), i.type);
    const std::int32_t c = compares ? operands_.source(functions_.operand(i, 3), i.type) : 0;
    const Handler run = compares ? &threaded<&exchange128<true>> : &threaded<&exchange128<false>>;
    code_.emit(run, operands_.destination(functions_.operand(i, 0)), address, b, c).flags =
        flag::strong;
}

// Results are written after all elements are done: a destination may be a source too.
void MemoryDecoder::vector_atomic(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    const bool returns = form.operands.list[0] == OperandConstraint::dv;
    const ptx::Operand &m = functions_.operand(i, returns ? 1 : 0),
                       &values = functions_.operand(i, returns ? 2 : 1);
    const std::int32_t address =
        addresses_.host_address(m, static_cast<ptx::Space>(field::space.get(i.modifiers)));
    const unsigned width = ptx::bytes_of(i.type);
    code_.emit(alignment_check, 0, address).imm = std::int64_t{width} * values.count;
    const BoundHandler run = code_.handlers().find(i.form, Key{i.type, i.type2, i.modifiers});
    if (!run) code_.fail(i.line, "no handler for " + std::string(form.mnemonic));
    std::int32_t results[8] = {};
    for (unsigned k = 0; k < values.count; ++k) {
        const std::int32_t value = operands_.relaxed_source(functions_.element(values, k), i.type);
        if (returns) results[k] = registers_.temporary(width);
        DecodedOp& code = code_.emit(run, results[k], value);
        code.op[4] = address;
        code.imm = k * width;
        code.flags = order_flags(i);
        code.slot = code_.take_slots();
    }
    for (unsigned k = 0; returns && k < values.count; ++k) {
        const ptx::Operand& to = functions_.current().operands[functions_.operand(i, 0).index + k];
        if (to.kind == Kind::reg)
            code_.emit(width == 2 ? "mov.b16" : "mov.b32", operands_.reg(to.index), results[k]);
    }
}

void MemoryDecoder::multimem(const ptx::Instruction& i, ptx::Space space) {
    const ptx::Form& form = i.form.form();
    const bool loads = form.operands.list[1] == ptx::OperandConstraint::m;
    const bool stores = form.opcode == Opcode::multimem_st;
    const std::int32_t address =
        addresses_.host_address(functions_.operand(i, loads ? 1 : 0), space);
    if (!stores)
        code_.emit(loads ? &threaded<&of_one_device<true>> : &threaded<&of_one_device<false>>, 0,
                   address);
    if (loads) return;
    const ptx::Operand& value = functions_.operand(i, 1);
    const unsigned count = value.kind == Kind::vector ? value.count : 1,
                   width = ptx::bytes_of(i.type);
    std::int32_t values[8] = {};
    for (unsigned k = 0; k < count; ++k)
        values[k] = operands_.relaxed_source(functions_.element(value, k), i.type);
    DecodedOp code;
    code.line = i.line;
    code.op[4] = address;
    code.flags = flag::strong | flag::release;
    if (stores) {
        code_.handlers().find("st.b" + std::to_string(8 * width)).bind(code);
        if (count > 4) return in_halves(code, values, width);
        for (unsigned k = 0; k < count; ++k) code.op[k] = values[k];
        code.count = static_cast<std::uint8_t>(count);
        code.slot = code_.take_slots();
        code_.append(code);
        return;
    }
    code_.emit(alignment_check, 0, address).imm = std::int64_t{width} * count;
    code_.handlers().find(plain_reduction(i)).bind(code);
    for (unsigned k = 0; k < count; ++k) {
        code.op[1] = values[k];
        code.imm = std::int64_t{k} * width;
        code.slot = code_.take_slots();
        code_.append(code);
    }
}

}  // namespace cupola::cpu::interpreter
