// csrc/cpu/interpreter/instruction_decoder.cpp - selects the decoder of an instruction, and guards
// its operations.
#include "cpu/interpreter/instruction_decoder.hpp"

#include <string>
#include <vector>

#include "cpu/interpreter/control.hpp"

namespace cupola::cpu::interpreter {
namespace {

using ptx::InstructionGroupId;

ptx::Space space_of(const ptx::Instruction& i) {
    return static_cast<ptx::Space>(field::space.get(i.modifiers));
}

bool has_shape(const ptx::Form& form, OperandConstraint shape) {
    for (unsigned n = 0; n < form.operands.count; ++n)
        if (form.operands.list[n] == shape) return true;
    return false;
}

bool is_of(const ptx::Instruction& i, InstructionGroupId group) {
    return i.form.group() == static_cast<unsigned>(group);
}

bool is_sync(const ptx::Instruction& i) {
    if (!is_of(i, InstructionGroupId::sync)) return false;
    if (i.form.opcode() == Opcode::barrier_cluster_arrive ||
        i.form.opcode() == Opcode::barrier_cluster_wait)
        return true;
    return !has_shape(i.form.form(), OperandConstraint::m) && i.form.form().operands.count != 0;
}

}  // namespace

void InstructionDecoder::decode(const ptx::Instruction& i) {
    code_.set_line(i.line);
    registers_.release_temporaries();
    const bool branch = i.form.opcode() == Opcode::bra;
    std::uint32_t around = 0;
    // A guard masks instructions on registers and memory, and branches around control flow.
    const bool masks = i.guard != ptx::absent && !branch &&
                       !is_of(i, InstructionGroupId::control) &&
                       !is_of(i, InstructionGroupId::matrix) &&
                       !is_of(i, InstructionGroupId::tcgen05) && !is_sync(i);
    const bool skips = i.guard != ptx::absent && !branch && !masks;
    if (masks || skips) {
        around = code_.size();
        DecodedOp& c = code_.emit(masks ? control.guard_begin : control.branch);
        c.op[0] = operands_.reg(i.guard);
        if (i.guard_negated != skips) c.flags |= flag::negate;
    }
    unguarded(i);
    if (masks) code_.emit(control.guard_end);
    if (skips) code_.emit(control.join);
    if (masks || skips)
        code_.kernel().code[around].target = static_cast<std::int32_t>(code_.size() - around);
}

void InstructionDecoder::unguarded(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    const Opcode opcode = form.opcode;
    switch (static_cast<InstructionGroupId>(i.form.group())) {
        case InstructionGroupId::control:
            return control_.decode(i);
        case InstructionGroupId::matrix:
            return matrices_.decode(i);
        case InstructionGroupId::tcgen05:
            return tcgen05_.decode(i);
        case InstructionGroupId::texture:
            return textures_.decode(i);
        case InstructionGroupId::async:
            return async_.decode(i);
        case InstructionGroupId::video:
            return video_.decode(i);
        default:
            break;
    }
    if (opcode == Opcode::set ||
        (opcode == Opcode::setp && has_shape(form, OperandConstraint::np)) ||
        (opcode == Opcode::setp && (i.type == Type::f16x2 || i.type == Type::bf16x2)))
        comparisons_.decode(i);
    else if (opcode == Opcode::lop3 && has_shape(form, OperandConstraint::np))
        comparisons_.lop3(i);
    else if (opcode == Opcode::cvta || opcode == Opcode::cvta_to)
        convert_address(i);
    else if (opcode == Opcode::mapa || opcode == Opcode::getctarank)
        cluster_address(i);
    else if (has_shape(form, OperandConstraint::apack) || has_shape(form, OperandConstraint::dpack))
        repack(i);
    else if (opcode == Opcode::shfl || opcode == Opcode::vote)
        unsynchronised(i);
    else if (has_shape(form, OperandConstraint::av) && !has_shape(form, OperandConstraint::m) &&
             !has_shape(form, OperandConstraint::texel))
        move_vector(i);
    else if (has_shape(form, OperandConstraint::m) && ptx::is_atomic(opcode))
        memory_.atomic(i);
    else if (has_shape(form, OperandConstraint::m))
        memory_.decode(i);
    else if (opcode == Opcode::barrier_cluster_arrive)
        code_.emit(cluster_control.arrive).flags = flag::strong;
    else if (opcode == Opcode::barrier_cluster_wait)
        code_.emit(cluster_control.wait).flags = flag::strong;
    else if (ptx::is_block_barrier(opcode))
        control_.barrier(i);
    else
        plain(i);
}

// Calls OperandDecoder for the operands in the order of the row's constraints, which is the order
// of the handler's ports.
void InstructionDecoder::plain(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    const BoundHandler run = code_.handlers().find(i.form, Key{i.type, i.type2, i.modifiers});
    if (!run) code_.fail(i.line, "no handler for " + std::string(form.mnemonic));
    DecodedOp code;
    run.bind(code);
    code.line = i.line;
    unsigned at = 0;
    struct Widen {
        std::int32_t to, from;
        Type to_type, from_type;
    } widen{0, 0, Type::none, Type::none};
    const Type type = i.type == Type::none ? Type::b32 : i.type;
    for (unsigned n = 0; n < form.operands.count; ++n) {
        const OperandConstraint shape = form.operands.list[n];
        std::int32_t* op = code.op + slot_of(form.operands, n);
        if (shape == OperandConstraint::cc_in || shape == OperandConstraint::cc_out) {
            *op = registers_.carry();
            continue;
        }
        const ptx::Operand& o = functions_.operand(i, at++);
        switch (shape) {
            case OperandConstraint::d:
            case OperandConstraint::dw:
            case OperandConstraint::d32:
            case OperandConstraint::p:
                *op = operands_.destination(o);
                break;
            case OperandConstraint::pq:
            case OperandConstraint::dp:
                op[0] = operands_.destination(o);
                op[1] = o.second != ptx::absent ? operands_.reg(o.second) : 0;
                break;
            case OperandConstraint::dr: {
                const unsigned width = ptx::bytes_of(type);
                *op = operands_.destination(o);
                if (o.kind == Kind::reg && ptx::bytes_of(o.type) != width) {
                    const bool sign = ptx::is_signed(type);
                    widen = {*op, registers_.temporary(width),
                             resizable(ptx::bytes_of(o.type), sign), resizable(width, sign)};
                    *op = widen.from;
                }
                break;
            }
            case OperandConstraint::a:
            case OperandConstraint::address:
                *op = operands_.source(o, type);
                break;
            case OperandConstraint::aw:
                // isspacep has no type; its operand is an address.
                if (i.type == Type::none) {
                    *op = operands_.reg(o.index);
                    if (ptx::bytes_of(o.type) == 4) code.flags |= flag::address32;
                } else {
                    *op = operands_.source(o, ptx::doubled(type));
                }
                break;
            case OperandConstraint::a2:
                *op = operands_.source(o, i.type2);
                break;
            case OperandConstraint::ar2:
                *op = operands_.relaxed_source(o, i.type2);
                break;
            case OperandConstraint::four_a2:
                *op = joined(o, i.type2);
                break;
            case OperandConstraint::w:
                *op = operands_.source(o, Type::b32);
                break;
            case OperandConstraint::h:
                *op = operands_.source(o, Type::b16);
                break;
            case OperandConstraint::np:
                *op = operands_.predicate(o);
                break;
            case OperandConstraint::imm:
                code.imm = o.value;
                break;
            default:
                code_.fail(i.line, "the instruction has an unsupported operand");
        }
    }
    if (form.opcode == Opcode::bar_warp_sync || form.opcode == Opcode::membar ||
        form.opcode == Opcode::fence)
        code.flags |= flag::strong;
    code_.append(code);
    if (widen.to_type != Type::none)
        operands_.resize(widen.to, widen.to_type, widen.from, widen.from_type);
}

// The place of a vector of four elements of 32 bits, side by side in one register.
std::int32_t InstructionDecoder::joined(const ptx::Operand& vector, Type type) {
    std::int32_t parts[4];
    for (unsigned n = 0; n < 4; ++n)
        parts[n] = operands_.source(functions_.element(vector, n), type);
    const std::int32_t to = registers_.temporary(16);
    DecodedOp& code = code_.emit(pack_handler(4, 4), to);
    for (unsigned n = 0; n < 4; ++n) code.op[1 + n] = parts[n];
    return to;
}

// Generic addresses equal global, constant and parameter addresses; shared and local addresses are
// offsets.
void InstructionDecoder::convert_address(const ptx::Instruction& i) {
    const ptx::Space space = space_of(i);
    const bool to = i.form.opcode() == Opcode::cvta_to;
    const ptx::Operand& from = functions_.operand(i, 1);
    if (to && from.kind != Kind::reg) code_.fail(i.line, "expected a register");
    if (from.kind == Kind::variable)
        addresses_.space_of_access(functions_.module().variables[from.index], space);
    if (from.kind == Kind::frame && !functions_.is_formal(from.index))
        addresses_.space_of_access(functions_.current().frame[from.index], space);
    const std::int32_t d = operands_.destination(functions_.operand(i, 0)),
                       a = operands_.source(from, i.type);
    if (ptx::bytes_of(i.type) != 8)
        code_.fail(i.line, "a generic address needs a register of 64 bits");
    if (space == ptx::Space::cluster_shared) {
        code_.emit(to ? cluster_control.window_of_generic : cluster_control.generic_of_window, d,
                   a);
        return;
    }
    if (space != ptx::Space::shared && space != ptx::Space::local) {
        code_.emit("mov.u64", d, a);
        return;
    }
    const std::int32_t base = registers_.special(
        space == ptx::Space::shared ? Hidden::shared_base : Hidden::local_base, 8);
    code_.emit(to ? "sub.u64" : "add.u64", d, a, base);
}

// Decodes mapa and getctarank.
void InstructionDecoder::cluster_address(const ptx::Instruction& i) {
    const bool map = i.form.opcode() == Opcode::mapa;
    const bool generic = space_of(i) == ptx::Space::generic, wide = ptx::bytes_of(i.type) == 8;
    if (generic && !wide) code_.fail(i.line, "a generic address needs a register of 64 bits");
    const std::int32_t d = operands_.destination(functions_.operand(i, 0)),
                       a = operands_.source(functions_.operand(i, 1), i.type);
    const ClusterControl& c = cluster_control;
    if (map)
        code_.emit(generic ? c.map_generic
                   : wide  ? c.map_window64
                           : c.map_window32,
                   d, a, operands_.source(functions_.operand(i, 2), Type::b32));
    else
        code_.emit(generic ? c.rank_of_generic
                   : wide  ? c.rank_of_window64
                           : c.rank_of_window32,
                   d, a);
}

// Moves element by element; copies a source first that an earlier element overwrites.
void InstructionDecoder::move_vector(const ptx::Instruction& i) {
    const ptx::Operand &to = functions_.operand(i, 0), &from = functions_.operand(i, 1);
    const std::string move = "mov.b" + std::to_string(8 * ptx::bytes_of(i.type));
    std::vector<std::int32_t> destinations, sources;
    for (unsigned n = 0; n < to.count; ++n) {
        destinations.push_back(operands_.destination(functions_.element(to, n)));
        if (from.kind != Kind::vector)
            sources.push_back(n == 0 ? operands_.source(from, i.type)
                                     : registers_.constant(ptx::bytes_of(i.type), 0));
        else
            sources.push_back(operands_.source(functions_.element(from, n), i.type));
    }
    for (unsigned n = 0; n < to.count; ++n)
        for (unsigned k = n + 1; k < to.count; ++k) {
            if (destinations[n] == 0 || sources[k] != destinations[n]) continue;
            const std::int32_t kept = registers_.temporary(ptx::bytes_of(i.type));
            code_.emit(move, kept, sources[k]);
            sources[k] = kept;
        }
    for (unsigned n = 0; n < to.count; ++n)
        if (destinations[n] != 0) code_.emit(move, destinations[n], sources[n]);
}

void InstructionDecoder::repack(const ptx::Instruction& i) {
    const bool pack = i.form.form().operands.list[1] == OperandConstraint::apack;
    const ptx::Operand& whole = functions_.operand(i, pack ? 0 : 1);
    const ptx::Operand& parts = functions_.operand(i, pack ? 1 : 0);
    const unsigned bytes = ptx::bytes_of(i.type) / parts.count;
    const BoundHandler run =
        pack ? pack_handler(bytes, parts.count) : unpack_handler(bytes, parts.count);
    if (!run) code_.fail(i.line, "mov cannot pack this vector into a register");
    std::int32_t op[5];
    op[0] = pack ? operands_.destination(whole) : operands_.source(whole, i.type);
    for (unsigned k = 0; k < parts.count; ++k) {
        const ptx::Operand& e = functions_.element(parts, k);
        op[1 + k] =
            !pack ? operands_.destination(e)
            : e.kind == Kind::integer
                ? registers_.constant(bytes, static_cast<std::uint64_t>(e.value) &
                                                 (bytes == 8 ? ~std::uint64_t{0}
                                                             : (std::uint64_t{1} << 8 * bytes) - 1))
                : operands_.reg(e.index);
    }
    DecodedOp& code = code_.emit(run);
    for (unsigned k = 0; k <= parts.count; ++k) code.op[k] = op[k];
}

// shfl and vote without .sync, from PTX versions without member masks: the active lanes take part.
void InstructionDecoder::unsynchronised(const ptx::Instruction& i) {
    static constexpr const char* modes[] = {"",    "up",  "down", "bfly",   "idx",
                                            "all", "any", "uni",  "ballot", "wrap"};
    const std::int32_t here = registers_.temporary(4);
    code_.emit("activemask.b32", here);
    const std::string mode = modes[field::mode.get(i.modifiers)];
    const ptx::Operand& d = functions_.operand(i, 0);
    if (i.form.opcode() != Opcode::shfl) {
        const std::int32_t p = operands_.predicate(functions_.operand(i, 1));
        code_.emit(i.type == Type::pred ? "vote.sync." + mode + ".pred" : "vote.sync.ballot.b32",
                   operands_.destination(d), p, here);
        return;
    }
    const std::int32_t a = operands_.source(functions_.operand(i, 1), Type::b32),
                       b = operands_.source(functions_.operand(i, 2), Type::b32),
                       c = operands_.source(functions_.operand(i, 3), Type::b32);
    DecodedOp& code = code_.emit("shfl.sync." + mode + ".b32", operands_.destination(d),
                                 d.second != ptx::absent ? operands_.reg(d.second) : 0, a, b);
    code.op[4] = c;
    code.op[5] = here;
}

}  // namespace cupola::cpu::interpreter
