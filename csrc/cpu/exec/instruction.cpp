// csrc/cpu/exec/instruction.cpp - one PTX instruction to one or a few Codes.
#include "cpu/exec/control.hpp"
#include "cpu/exec/decode.hpp"

namespace cupola::cpu::exec {
namespace {

using Kind = ptx::Operand::Kind;
using ptx::Shape;
using ptx::Type;
namespace field = ptx::field;

ptx::Space space_of(const ptx::Instruction& i) {
    return static_cast<ptx::Space>(field::space.get(i.modifiers));
}

bool has_shape(const ptx::Form& form, Shape shape) {
    for (unsigned n = 0; n < form.shapes.count; ++n)
        if (form.shapes.list[n] == shape) return true;
    return false;
}

bool is_sync(const ptx::Instruction& i) {
    if (i.form.chapter() != static_cast<unsigned>(ptx::ChapterId::sync)) return false;
    if (i.form.form().mnemonic.substr(0, 15) == "barrier.cluster") return true;
    return !has_shape(i.form.form(), Shape::m) && i.form.form().shapes.count != 0;
}

// An integer type that resizes as a load of `type` does: with the sign, or with zeros.
Type resizable(Type type, unsigned width, bool sign) {
    (void)type;
    if (sign)
        return width == 1 ? Type::s8 : width == 2 ? Type::s16 : width == 4 ? Type::s32 : Type::s64;
    return width == 1 ? Type::u8 : width == 2 ? Type::u16 : width == 4 ? Type::u32 : Type::u64;
}

}  // namespace

void Decoder::instruction(const ptx::Instruction& i) {
    line_ = i.line;
    for (auto& used : temporaries_used_) used = 0;
    const ptx::Form& form = i.form.form();
    const bool branch = form.mnemonic == "bra";
    const bool control_chapter = i.form.chapter() == static_cast<unsigned>(ptx::ChapterId::control);
    std::size_t around = 0;
    // A guard masks what works on registers and memory; what changes the flow is branched around.
    const bool matrices = i.form.chapter() == static_cast<unsigned>(ptx::ChapterId::matrix);
    const bool masks =
        i.guard != ptx::absent && !branch && !control_chapter && !matrices && !is_sync(i);
    const bool skips = i.guard != ptx::absent && !branch && !masks;
    if (masks || skips) {
        around = kernel_->code.size();
        Code& c = emit(masks ? control.guard_begin : control.branch);
        c.op[0] = reg(i.guard);
        if (i.guard_negated != skips) c.flags |= flag::negate;
    }
    if (control_chapter)
        control_flow(i);
    else if (matrices)
        matrix(i);
    else if (i.form.chapter() == static_cast<unsigned>(ptx::ChapterId::texture))
        texture(i);
    else if (i.form.chapter() == static_cast<unsigned>(ptx::ChapterId::async))
        asynchronous(i);
    else if (i.form.chapter() == static_cast<unsigned>(ptx::ChapterId::video))
        video(i);
    else if (form.mnemonic == "set" || (form.mnemonic == "setp" && has_shape(form, Shape::np)) ||
             (form.mnemonic == "setp" && (i.type == Type::f16x2 || i.type == Type::bf16x2)))
        compare(i);
    else if (form.mnemonic == "lop3" && has_shape(form, Shape::np))
        lop3(i);
    else if (form.mnemonic == "cvta" || form.mnemonic == "cvta.to")
        convert_address(i);
    else if (form.mnemonic == "mapa" || form.mnemonic == "getctarank")
        cluster_address(i);
    else if (has_shape(form, Shape::apack) || has_shape(form, Shape::dpack))
        repack(i);
    else if (form.mnemonic == "shfl" || form.mnemonic == "vote" || form.mnemonic == "vote.ballot")
        unsynchronised(i);
    else if (has_shape(form, Shape::m) && (form.mnemonic == "atom" || form.mnemonic == "red"))
        atomic(i);
    else if (has_shape(form, Shape::m))
        memory(i);
    else if (form.mnemonic == "barrier.cluster.arrive")
        emit(cluster_control.arrive).flags = flag::strong;
    else if (form.mnemonic == "barrier.cluster.wait")
        emit(cluster_control.wait).flags = flag::strong;
    else if (is_sync(i) && (form.mnemonic.substr(0, 3) == "bar") &&
             form.mnemonic != "bar.warp.sync")
        barrier(i);
    else
        plain(i);
    if (masks) emit(control.guard_end);
    if (skips) emit(control.join);
    if (masks || skips)
        kernel_->code[around].target = static_cast<std::int32_t>(kernel_->code.size() - around);
}

// Operands in the order of the row's shapes, which is that of the handler's ports.
void Decoder::plain(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    const Handler run = handlers_.find(i.form, Key{i.type, i.type2, i.modifiers});
    if (!run) fail(i.line, "no handler for " + std::string(form.mnemonic));
    Code code;
    code.run = run;
    code.line = i.line;
    unsigned at = 0;
    struct Widen {
        std::int32_t to, from;
        Type to_type, from_type;
    } widen{0, 0, Type::none, Type::none};
    const Type type = i.type == Type::none ? Type::b32 : i.type;
    for (unsigned n = 0; n < form.shapes.count; ++n) {
        const Shape shape = form.shapes.list[n];
        std::int32_t* op = code.op + slot_of(form.shapes, n);
        if (shape == Shape::cc_in || shape == Shape::cc_out) {
            *op = carry_;
            continue;
        }
        const ptx::Operand& o = operand(i, at++);
        switch (shape) {
            case Shape::d:
            case Shape::dw:
            case Shape::d32:
            case Shape::p:
                *op = destination(o);
                break;
            case Shape::pq:
            case Shape::dp:
                op[0] = destination(o);
                op[1] = o.second != ptx::absent ? reg(o.second) : 0;
                break;
            case Shape::dr: {
                const unsigned width = ptx::bytes_of(type);
                *op = destination(o);
                if (o.kind == Kind::reg && ptx::bytes_of(o.type) != width) {
                    const bool sign = ptx::is_signed(type);
                    widen = {*op, temporary(width), resizable(type, ptx::bytes_of(o.type), sign),
                             resizable(type, width, sign)};
                    *op = widen.from;
                }
                break;
            }
            case Shape::a:
            case Shape::address:
                *op = source(o, type);
                break;
            case Shape::aw:
                // isspacep has no type: its operand is an address.
                if (i.type == Type::none) {
                    *op = reg(o.index);
                    if (ptx::bytes_of(o.type) == 4) code.flags |= flag::address32;
                } else {
                    *op = source(o, ptx::doubled(type));
                }
                break;
            case Shape::a2:
                *op = source(o, i.type2);
                break;
            case Shape::ar2:
                *op = relaxed_source(o, i.type2);
                break;
            case Shape::w:
                *op = source(o, Type::b32);
                break;
            case Shape::np:
                *op = predicate(o);
                break;
            case Shape::imm:
                code.imm = o.value;
                break;
            default:
                fail(i.line, "a shape without a place");
        }
    }
    if (form.mnemonic == "bar.warp.sync" || form.mnemonic == "membar" || form.mnemonic == "fence")
        code.flags |= flag::strong;
    kernel_->code.push_back(code);
    if (widen.to_type != Type::none) resize(widen.to, widen.to_type, widen.from, widen.from_type);
}

// op: [0..3] what is loaded or stored, [4] the address; of atomics [0] result, [1] and [2] sources.
void Decoder::memory(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    if (i.operands > 1 && space_of(i) == ptx::Space::param && operand(i, 1).kind == Kind::memory &&
        operand(i, 1).base == Kind::frame && is_formal(operand(i, 1).index))
        return parameter_load(i);
    ptx::Instruction as = i;
    Code code;
    code.line = i.line;
    unsigned elements = 0;
    struct Widen {
        std::int32_t to, from;
        Type to_type, from_type;
    } widen[4];
    unsigned widened = 0;
    const unsigned width = ptx::bytes_of(i.type);
    const ptx::Operand* address_operand = nullptr;
    for (unsigned n = 0; n < form.shapes.count; ++n) {
        const Shape shape = form.shapes.list[n];
        const ptx::Operand& o = operand(i, n);
        if (shape == Shape::m) {
            address_operand = &o;
            continue;
        }
        if (shape == Shape::dv || shape == Shape::av) {
            const unsigned count = o.kind == Kind::vector ? o.count : 1;
            if (count > 4) fail(i.line, "vectors of more than 4 elements are not supported");
            code.count = static_cast<std::uint8_t>(count);
            for (unsigned k = 0; k < count; ++k) {
                const ptx::Operand& e = o.kind == Kind::vector ? f_->operands[o.index + k] : o;
                if (shape == Shape::av) {
                    code.op[k] = relaxed_source(e, i.type);
                    continue;
                }
                code.op[k] = destination(e);
                if (e.kind != Kind::reg || ptx::bytes_of(e.type) == width) continue;
                const bool sign = ptx::is_signed(i.type);
                widen[widened] = {code.op[k], temporary(width),
                                  resizable(i.type, ptx::bytes_of(e.type), sign),
                                  resizable(i.type, width, sign)};
                code.op[k] = widen[widened++].from;
            }
            continue;
        }
        // Atomics: a result comes first, where there is one; sources from slot 1 on.
        if (shape == Shape::d)
            code.op[0] = destination(o);
        else
            code.op[++elements] = source(o, i.type);
    }
    const ptx::Operand& m = *address_operand;
    ptx::Space space = place_address(m, space_of(i), code);
    if (space == ptx::Space::cluster_shared) {
        // The window's address becomes a generic one, which is then followed.
        const std::int32_t host = temporary(8);
        Code& convert = emit(cluster_control.generic_of_window, host, code.op[4]);
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
    const bool atomic = form.mnemonic == "atom" || form.mnemonic == "red";
    if (order != ptx::Order::weak || atomic) code.flags |= flag::strong;
    if (order == ptx::Order::acquire || order == ptx::Order::acq_rel) code.flags |= flag::acquire;
    if (order == ptx::Order::release || order == ptx::Order::acq_rel) code.flags |= flag::release;
    code.slot = kernel_->slots++;
    code.run = handlers_.find(i.form, Key{as.type, as.type2, as.modifiers});
    if (!code.run) fail(i.line, "no handler for " + std::string(form.mnemonic));
    kernel_->code.push_back(code);
    for (unsigned k = 0; k < widened; ++k)
        resize(widen[k].to, widen[k].to_type, widen[k].from, widen[k].from_type);
}

// Where an access begins: op[4] and imm. A variable of the function's own lies in local memory.
ptx::Space Decoder::place_address(const ptx::Operand& m, ptx::Space space, Code& code) {
    switch (m.base) {
        case Kind::reg:
            code.op[4] = reg(m.index);
            code.imm = m.value;
            if (ptx::bytes_of(m.type) == 4) code.flags |= flag::address32;
            break;
        case Kind::variable: {
            const ptx::Variable& v = module_.variables[m.index];
            const bool shared = space == ptx::Space::shared || space == ptx::Space::cluster_shared;
            if ((v.space == ptx::Space::shared) != shared)
                fail(code.line, "'" + v.name + "' does not lie in the space that is accessed");
            code.op[4] = address_of(m.index, 0, 8);
            code.imm = m.value;
            break;
        }
        case Kind::frame: {
            const ptx::Variable& v = f_->frame[m.index];
            if (is_formal(m.index) || (space != v.space && space != ptx::Space::local))
                fail(code.line, "'" + v.name + "' does not lie in the space that is accessed");
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
        fail(i.line, "a load from beyond the kernel's parameters");
    if (at % width != 0) fail(i.line, "a misaligned load of a parameter");
    for (unsigned k = 0; k < count; ++k) {
        const ptx::Operand& e = d.kind == Kind::vector ? f_->operands[d.index + k] : d;
        if (e.kind != Kind::reg) continue;
        const bool same = ptx::bytes_of(e.type) == width;
        const std::int32_t to = same ? reg(e.index) : temporary(width);
        Code& code = emit(isa().find_parameter_load(width), to);
        code.imm = static_cast<std::int64_t>(at + k * width);
        const bool sign = ptx::is_signed(i.type);
        if (!same)
            resize(reg(e.index), resizable(i.type, ptx::bytes_of(e.type), sign), to,
                   resizable(i.type, width, sign));
    }
}

bool Decoder::control_flow(const ptx::Instruction& i) {
    const std::string_view m = i.form.form().mnemonic;
    if (m == "bra") {
        const std::uint32_t block = block_of_[f_->labels[operand(i, 0).index]];
        fixups_.push_back({static_cast<std::uint32_t>(kernel_->code.size()), block});
        if (i.guard == ptx::absent) {
            emit(control.jump);
        } else {
            Code& c = emit(control.branch, reg(i.guard));
            if (i.guard_negated) c.flags |= flag::negate;
        }
    } else if (m == "brx.idx") {
        const std::int32_t index = source(operand(i, 0), Type::b32);
        TableFixup fix;
        fix.code = static_cast<std::uint32_t>(kernel_->code.size());
        fix.table = static_cast<std::uint32_t>(kernel_->tables.size());
        for (const std::uint32_t label : f_->tables[operand(i, 1).index])
            fix.blocks.push_back(block_of_[f_->labels[label]]);
        kernel_->tables.emplace_back();
        emit(control.branch_indexed, index).imm = static_cast<std::int64_t>(fix.table);
        table_fixups_.push_back(std::move(fix));
    } else if (m == "call") {
        call(i);
    } else if (m == "ret") {
        leave();
    } else if (m == "alloca" || m == "stacksave" || m == "stackrestore") {
        stack(i);
    } else if (m == "exit") {
        emit(control.exit);
    } else if (m == "trap") {
        emit(control.trap);
    } else if (m == "brkpt") {
        emit(control.brkpt);
    } else if (m == "nanosleep") {
        emit(control.sleep);
    }
    // pmevent is for profilers, setmaxnreg for a GPU's register file. A grid begins when those
    // before it in its stream have ended, and those behind it when it has: more than griddepcontrol
    // asks for.
    return true;
}

// op: destination, barrier, threads, predicate.
void Decoder::barrier(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    Code code;
    code.line = i.line;
    code.flags = flag::strong;
    if (form.mnemonic.substr(0, 4) == "bar." || field::aligned.get(i.modifiers) != 0)
        code.flags |= flag::aligned;
    code.run = form.mnemonic.find("arrive") != std::string_view::npos ? control.barrier_arrive
                                                                      : control.barrier;
    BarrierKind kind = BarrierKind::plain;
    code.op[2] = constant(4, 0);
    unsigned words = 0;
    for (unsigned n = 0; n < form.shapes.count; ++n) {
        const ptx::Operand& o = operand(i, n);
        switch (form.shapes.list[n]) {
            case Shape::d:
                kind = BarrierKind::popc;
                code.op[0] = destination(o);
                break;
            case Shape::p:
                kind = field::operation.get(i.modifiers) == static_cast<unsigned>(ptx::Atomic::and_)
                           ? BarrierKind::all
                           : BarrierKind::any;
                code.op[0] = destination(o);
                break;
            case Shape::np:
                code.op[3] = predicate(o);
                break;
            default:
                code.op[++words] = source(o, Type::b32);
                break;
        }
    }
    code.count = static_cast<std::uint8_t>(kind);
    kernel_->code.push_back(code);
}

// Global, constant and parameter addresses are generic ones; shared and local ones are offsets.
void Decoder::convert_address(const ptx::Instruction& i) {
    const ptx::Space space = space_of(i);
    const bool to = i.form.form().mnemonic == "cvta.to";
    const std::int32_t d = destination(operand(i, 0)), a = source(operand(i, 1), i.type);
    if (ptx::bytes_of(i.type) != 8) fail(i.line, "generic addresses have 64 bits");
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

// mapa and getctarank.
void Decoder::cluster_address(const ptx::Instruction& i) {
    const bool map = i.form.form().mnemonic == "mapa";
    const bool generic = space_of(i) == ptx::Space::generic, wide = ptx::bytes_of(i.type) == 8;
    if (generic && !wide) fail(i.line, "generic addresses have 64 bits");
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

void Decoder::repack(const ptx::Instruction& i) {
    const bool pack = i.form.form().shapes.list[1] == Shape::apack;
    const ptx::Operand& whole = operand(i, pack ? 0 : 1);
    const ptx::Operand& parts = operand(i, pack ? 1 : 0);
    const unsigned bytes = ptx::bytes_of(i.type) / parts.count;
    const Handler run =
        pack ? pack_handler(bytes, parts.count) : unpack_handler(bytes, parts.count);
    if (!run) fail(i.line, "a vector that a register is not packed from");
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
    Code& code = emit(run);
    for (unsigned k = 0; k <= parts.count; ++k) code.op[k] = op[k];
}

}  // namespace cupola::cpu::exec
