// csrc/cpu/interpreter/decode_memory.cpp - decodes loads, stores and atomics.
#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/decode.hpp"

namespace cupola::cpu::interpreter {
// Extends the sign, or with zeros.
Type resizable(unsigned width, bool sign) {
    if (sign)
        return width == 1 ? Type::s8 : width == 2 ? Type::s16 : width == 4 ? Type::s32 : Type::s64;
    return width == 1 ? Type::u8 : width == 2 ? Type::u16 : width == 4 ? Type::u32 : Type::u64;
}

// op: [0..3] loaded or stored values, [4] the address; atomics: [0] result, [1] and [2] sources.
void Decoder::memory(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    const auto named = static_cast<ptx::Space>(field::space.get(i.modifiers));
    const bool parameter = named == ptx::Space::param || named == ptx::Space::entry_param;
    if (i.operands > 1 && parameter && operand(i, 1).kind == Kind::memory &&
        operand(i, 1).base == Kind::frame && is_formal(operand(i, 1).index))
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
        const ptx::Operand& o = operand(i, n);
        if (shape == OperandConstraint::m) {
            address_operand = &o;
            continue;
        }
        if (shape == OperandConstraint::dv || shape == OperandConstraint::av) {
            count = o.kind == Kind::vector ? o.count : 1;
            for (unsigned k = 0; k < count; ++k) {
                const ptx::Operand& e = o.kind == Kind::vector ? f_->operands[o.index + k] : o;
                if (shape == OperandConstraint::av) {
                    values[k] = relaxed_source(e, i.type);
                    continue;
                }
                values[k] = destination(e);
                if (e.kind != Kind::reg || ptx::bytes_of(e.type) == width) continue;
                const bool sign = ptx::is_signed(i.type);
                widen[widened] = {values[k], temporary(width),
                                  resizable(ptx::bytes_of(e.type), sign), resizable(width, sign)};
                values[k] = widen[widened++].from;
            }
            continue;
        }
        // Atomics: the result, if any, is in slot 0; sources begin at slot 1.
        if (shape == OperandConstraint::d)
            code.op[0] = destination(o);
        else
            code.op[++elements] = source(o, i.type);
    }
    const ptx::Operand& m = *address_operand;
    ptx::Space space = place_address(m, named, code);
    if (space == ptx::Space::cluster_shared) {
        // Converts the window's address to a generic one before the access.
        const std::int32_t host = temporary(8);
        DecodedOp& convert = emit(cluster_control.generic_of_window, host, code.op[4]);
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
    handlers_.find(i.form, Key{as.type, as.type2, as.modifiers}).bind(code);
    if (!code.run) fail(i.line, "no handler for " + std::string(form.mnemonic));
    if (count > 4) {
        in_halves(code, values, width);
    } else {
        for (unsigned k = 0; k < count; ++k) code.op[k] = values[k];
        code.count = static_cast<std::uint8_t>(count);
        code.slot = kernel_->slots++;
        kernel_->code.push_back(code);
    }
    for (unsigned k = 0; k < widened; ++k)
        resize(widen[k].to, widen[k].to_type, widen[k].from, widen[k].from_type);
}

// A vector of 8 becomes two of 4. The alignment of the whole is checked first.
void Decoder::in_halves(DecodedOp code, const std::int32_t* values, unsigned width) {
    const std::int32_t place = temporary(8);  // the load may overwrite the address
    emit(code.flags & flag::address32 ? "cvt.u64.u32" : "mov.u64", place, code.op[4]);
    if (code.imm != 0)
        emit("add.u64", place, place, constant(8, static_cast<std::uint64_t>(code.imm)));
    emit(alignment_check, 0, place).imm = std::int64_t{8} * width;
    code.flags &= static_cast<std::uint8_t>(~flag::address32);
    code.op[4] = place;
    code.count = 4;
    for (unsigned half = 0; half < 2; ++half) {
        for (unsigned k = 0; k < 4; ++k) code.op[k] = values[4 * half + k];
        code.imm = std::int64_t{4} * half * width;
        code.slot = kernel_->slots++;
        kernel_->code.push_back(code);
    }
}

// The space of an access by a variable's name: the variable's own if the instruction names none.
// Constant memory needs an explicit space.
ptx::Space Decoder::space_of_access(const ptx::Variable& v, ptx::Space space) const {
    if (space == ptx::Space::generic && v.space != ptx::Space::constant) return v.space;
    const bool shared = space == ptx::Space::cluster_shared && v.space == ptx::Space::shared;
    if (space != v.space && !shared)
        fail(line_, "'" + v.name + "' is not in the state space of the instruction");
    return space;
}

// Sets the base (op[4]) and imm of an access. A function's own variables are in local memory.
ptx::Space Decoder::place_address(const ptx::Operand& m, ptx::Space space, DecodedOp& code) {
    const bool of_entry = space == ptx::Space::entry_param;
    if (of_entry) space = ptx::Space::param;
    switch (m.base) {
        case Kind::reg:
            // Parameters of a device function are in its frame.
            if (space == ptx::Space::param && !of_entry && !f_->entry) space = ptx::Space::local;
            code.op[4] = reg(m.index);
            code.imm = m.value;
            if (ptx::bytes_of(m.type) == 4) code.flags |= flag::address32;
            break;
        case Kind::variable: {
            space = space_of_access(module_.variables[m.index], space);
            code.op[4] = address_of(m.index, 0, 8);
            code.imm = m.value;
            break;
        }
        case Kind::frame: {
            const ptx::Variable& v = f_->frame[m.index];
            const bool suits = space == v.space || space == ptx::Space::local ||
                               (space == ptx::Space::generic && v.space == ptx::Space::local);
            if (is_formal(m.index) || !suits)
                fail(code.line, "'" + v.name + "' is not in the state space of the instruction");
            code.op[4] = kernel_->stack_pointer;
            code.flags |= flag::address32;
            code.imm = static_cast<std::int64_t>(v.offset + static_cast<std::uint64_t>(m.value));
            space = ptx::Space::local;
            break;
        }
        default:
            code.op[4] = constant(8, static_cast<std::uint64_t>(m.value));
            break;
    }
    return space;
}

void Decoder::parameter_load(const ptx::Instruction& i) {
    const ptx::Operand &d = operand(i, 0), &m = operand(i, 1);
    const unsigned width = ptx::bytes_of(i.type), count = d.kind == Kind::vector ? d.count : 1;
    const std::uint64_t at = f_->frame[m.index].offset + static_cast<std::uint64_t>(m.value);
    if (at > kernel_->parameter_bytes ||
        kernel_->parameter_bytes - at < std::uint64_t{width} * count)
        fail(i.line, "a load outside of the kernel's parameters");
    if (at % width != 0) fail(i.line, "a misaligned load of a parameter");
    for (unsigned k = 0; k < count; ++k) {
        const ptx::Operand& e = d.kind == Kind::vector ? f_->operands[d.index + k] : d;
        if (e.kind != Kind::reg) continue;
        const bool same = ptx::bytes_of(e.type) == width;
        const std::int32_t to = same ? reg(e.index) : temporary(width);
        const Handler load = isa().find_parameter_load(width);
        DecodedOp& code = emit({load, Pseudo::load_parameter, width}, to);
        code.imm = static_cast<std::int64_t>(at + k * width);
        const bool sign = ptx::is_signed(i.type);
        if (!same)
            resize(reg(e.index), resizable(ptx::bytes_of(e.type), sign), to,
                   resizable(width, sign));
    }
}

}  // namespace cupola::cpu::interpreter
