// csrc/cpu/interpreter/instruction.cpp - decodes one PTX instruction to one or more Codes.
#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/decode.hpp"

namespace cupola::cpu::interpreter {
namespace {

ptx::Space space_of(const ptx::Instruction& i) {
    return static_cast<ptx::Space>(field::space.get(i.modifiers));
}

bool has_shape(const ptx::Form& form, OperandConstraint shape) {
    for (unsigned n = 0; n < form.operands.count; ++n)
        if (form.operands.list[n] == shape) return true;
    return false;
}

bool is_sync(const ptx::Instruction& i) {
    if (i.form.group() != static_cast<unsigned>(ptx::InstructionGroupId::sync)) return false;
    if (i.form.opcode() == Opcode::barrier_cluster_arrive ||
        i.form.opcode() == Opcode::barrier_cluster_wait)
        return true;
    return !has_shape(i.form.form(), OperandConstraint::m) && i.form.form().operands.count != 0;
}

}  // namespace

void Decoder::instruction(const ptx::Instruction& i) {
    line_ = i.line;
    for (auto& used : temporaries_used_) used = 0;
    const ptx::Form& form = i.form.form();
    const Opcode opcode = form.opcode;
    const bool branch = opcode == Opcode::bra;
    const bool control_chapter =
        i.form.group() == static_cast<unsigned>(ptx::InstructionGroupId::control);
    std::size_t around = 0;
    // A guard masks instructions on registers and memory, and branches around control flow.
    const bool matrices = i.form.group() == static_cast<unsigned>(ptx::InstructionGroupId::matrix);
    const bool masks =
        i.guard != ptx::absent && !branch && !control_chapter && !matrices && !is_sync(i);
    const bool skips = i.guard != ptx::absent && !branch && !masks;
    if (masks || skips) {
        around = kernel_->code.size();
        DecodedOp& c = emit(masks ? control.guard_begin : control.branch);
        c.op[0] = reg(i.guard);
        if (i.guard_negated != skips) c.flags |= flag::negate;
    }
    if (control_chapter)
        control_flow(i);
    else if (matrices)
        matrix(i);
    else if (i.form.group() == static_cast<unsigned>(ptx::InstructionGroupId::texture))
        texture(i);
    else if (i.form.group() == static_cast<unsigned>(ptx::InstructionGroupId::async))
        asynchronous(i);
    else if (i.form.group() == static_cast<unsigned>(ptx::InstructionGroupId::video))
        video(i);
    else if (opcode == Opcode::set ||
             (opcode == Opcode::setp && has_shape(form, OperandConstraint::np)) ||
             (opcode == Opcode::setp && (i.type == Type::f16x2 || i.type == Type::bf16x2)))
        compare(i);
    else if (opcode == Opcode::lop3 && has_shape(form, OperandConstraint::np))
        lop3(i);
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
        atomic(i);
    else if (has_shape(form, OperandConstraint::m))
        memory(i);
    else if (opcode == Opcode::barrier_cluster_arrive)
        emit(cluster_control.arrive).flags = flag::strong;
    else if (opcode == Opcode::barrier_cluster_wait)
        emit(cluster_control.wait).flags = flag::strong;
    else if (ptx::is_block_barrier(opcode))
        barrier(i);
    else
        plain(i);
    if (masks) emit(control.guard_end);
    if (skips) emit(control.join);
    if (masks || skips)
        kernel_->code[around].target = static_cast<std::int32_t>(kernel_->code.size() - around);
}

// Operands in the order of the row's constraints, which is the order of the handler's ports.
void Decoder::plain(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    const BoundHandler run = handlers_.find(i.form, Key{i.type, i.type2, i.modifiers});
    if (!run) fail(i.line, "no handler for " + std::string(form.mnemonic));
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
            *op = carry_;
            continue;
        }
        const ptx::Operand& o = operand(i, at++);
        switch (shape) {
            case OperandConstraint::d:
            case OperandConstraint::dw:
            case OperandConstraint::d32:
            case OperandConstraint::p:
                *op = destination(o);
                break;
            case OperandConstraint::pq:
            case OperandConstraint::dp:
                op[0] = destination(o);
                op[1] = o.second != ptx::absent ? reg(o.second) : 0;
                break;
            case OperandConstraint::dr: {
                const unsigned width = ptx::bytes_of(type);
                *op = destination(o);
                if (o.kind == Kind::reg && ptx::bytes_of(o.type) != width) {
                    const bool sign = ptx::is_signed(type);
                    widen = {*op, temporary(width), resizable(ptx::bytes_of(o.type), sign),
                             resizable(width, sign)};
                    *op = widen.from;
                }
                break;
            }
            case OperandConstraint::a:
            case OperandConstraint::address:
                *op = source(o, type);
                break;
            case OperandConstraint::aw:
                // isspacep has no type; its operand is an address.
                if (i.type == Type::none) {
                    *op = reg(o.index);
                    if (ptx::bytes_of(o.type) == 4) code.flags |= flag::address32;
                } else {
                    *op = source(o, ptx::doubled(type));
                }
                break;
            case OperandConstraint::a2:
                *op = source(o, i.type2);
                break;
            case OperandConstraint::ar2:
                *op = relaxed_source(o, i.type2);
                break;
            case OperandConstraint::w:
                *op = source(o, Type::b32);
                break;
            case OperandConstraint::np:
                *op = predicate(o);
                break;
            case OperandConstraint::imm:
                code.imm = o.value;
                break;
            default:
                fail(i.line, "the instruction has an unsupported operand");
        }
    }
    if (form.opcode == Opcode::bar_warp_sync || form.opcode == Opcode::membar ||
        form.opcode == Opcode::fence)
        code.flags |= flag::strong;
    kernel_->code.push_back(code);
    if (widen.to_type != Type::none) resize(widen.to, widen.to_type, widen.from, widen.from_type);
}

// Generic addresses equal global, constant and parameter addresses; shared and local addresses are
// offsets.
void Decoder::convert_address(const ptx::Instruction& i) {
    const ptx::Space space = space_of(i);
    const bool to = i.form.opcode() == Opcode::cvta_to;
    const ptx::Operand& from = operand(i, 1);
    if (to && from.kind != Kind::reg) fail(i.line, "expected a register");
    if (from.kind == Kind::variable) space_of_access(module_.variables[from.index], space);
    if (from.kind == Kind::frame && !is_formal(from.index))
        space_of_access(f_->frame[from.index], space);
    const std::int32_t d = destination(operand(i, 0)), a = source(from, i.type);
    if (ptx::bytes_of(i.type) != 8) fail(i.line, "a generic address needs a register of 64 bits");
    if (space == ptx::Space::cluster_shared) {
        emit(to ? cluster_control.window_of_generic : cluster_control.generic_of_window, d, a);
        return;
    }
    if (space != ptx::Space::shared && space != ptx::Space::local) {
        emit("mov.u64", d, a);
        return;
    }
    const std::int32_t base =
        special(static_cast<unsigned>(space == ptx::Space::shared ? Hidden::shared_base
                                                                  : Hidden::local_base),
                8);
    emit(to ? "sub.u64" : "add.u64", d, a, base);
}

// Decodes mapa and getctarank.
void Decoder::cluster_address(const ptx::Instruction& i) {
    const bool map = i.form.opcode() == Opcode::mapa;
    const bool generic = space_of(i) == ptx::Space::generic, wide = ptx::bytes_of(i.type) == 8;
    if (generic && !wide) fail(i.line, "a generic address needs a register of 64 bits");
    const std::int32_t d = destination(operand(i, 0)), a = source(operand(i, 1), i.type);
    const ClusterControl& c = cluster_control;
    if (map)
        emit(generic ? c.map_generic
             : wide  ? c.map_window64
                     : c.map_window32,
             d, a, source(operand(i, 2), Type::b32));
    else
        emit(generic ? c.rank_of_generic : wide ? c.rank_of_window64 : c.rank_of_window32, d, a);
}

// Moves element by element; copies a source first that an earlier element overwrites.
void Decoder::move_vector(const ptx::Instruction& i) {
    const ptx::Operand &to = operand(i, 0), &from = operand(i, 1);
    const std::string move = "mov.b" + std::to_string(8 * ptx::bytes_of(i.type));
    std::vector<std::int32_t> destinations, sources;
    for (unsigned n = 0; n < to.count; ++n) {
        destinations.push_back(destination(f_->operands[to.index + n]));
        if (from.kind != Kind::vector)
            sources.push_back(n == 0 ? source(from, i.type) : constant(ptx::bytes_of(i.type), 0));
        else
            sources.push_back(source(f_->operands[from.index + n], i.type));
    }
    for (unsigned n = 0; n < to.count; ++n)
        for (unsigned k = n + 1; k < to.count; ++k) {
            if (destinations[n] == 0 || sources[k] != destinations[n]) continue;
            const std::int32_t kept = temporary(ptx::bytes_of(i.type));
            emit(move, kept, sources[k]);
            sources[k] = kept;
        }
    for (unsigned n = 0; n < to.count; ++n)
        if (destinations[n] != 0) emit(move, destinations[n], sources[n]);
}

void Decoder::repack(const ptx::Instruction& i) {
    const bool pack = i.form.form().operands.list[1] == OperandConstraint::apack;
    const ptx::Operand& whole = operand(i, pack ? 0 : 1);
    const ptx::Operand& parts = operand(i, pack ? 1 : 0);
    const unsigned bytes = ptx::bytes_of(i.type) / parts.count;
    const BoundHandler run =
        pack ? pack_handler(bytes, parts.count) : unpack_handler(bytes, parts.count);
    if (!run) fail(i.line, "mov cannot pack this vector into a register");
    std::int32_t op[5];
    op[0] = pack ? destination(whole) : source(whole, i.type);
    for (unsigned k = 0; k < parts.count; ++k) {
        const ptx::Operand& e = f_->operands[parts.index + k];
        op[1 + k] = !pack ? destination(e)
                    : e.kind == Kind::integer
                        ? constant(bytes, static_cast<std::uint64_t>(e.value) &
                                              (bytes == 8 ? ~std::uint64_t{0}
                                                          : (std::uint64_t{1} << 8 * bytes) - 1))
                        : reg(e.index);
    }
    DecodedOp& code = emit(run);
    for (unsigned k = 0; k <= parts.count; ++k) code.op[k] = op[k];
}

}  // namespace cupola::cpu::interpreter
