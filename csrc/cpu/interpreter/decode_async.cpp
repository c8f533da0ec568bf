// csrc/cpu/interpreter/decode_async.cpp - decodes instructions of asynchronous copies.
#include "cpu/interpreter/async.hpp"

#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/decode.hpp"

namespace cupola::cpu::interpreter {
namespace {

constexpr AsyncKind async_kinds[] = {
#define FORM(mnemonic, semantics, ...) AsyncKind::semantics,
#include "ptx/table/async.inc"
#undef FORM
};

// A window address names distributed shared memory, including the block's own.
bool in_window(ptx::Space space) {
    return space == ptx::Space::shared || space == ptx::Space::cluster_shared;
}

}  // namespace

std::string_view spelled(ptx::Atomic operation) {
    static constexpr std::string_view names[] = {"add", "min", "max", "inc",  "dec",
                                                 "and", "or",  "xor", "exch", "cas"};
    return names[static_cast<unsigned>(operation)];
}

// Emits code for the host address of a memory operand; returns its register.
std::int32_t Decoder::host_address(const ptx::Operand& m, ptx::Space space) {
    if (m.base == Kind::frame) {
        const bool formal = is_formal(m.index);
        const std::int32_t offset = frame_address(m.index, m.value, 8);
        if (formal) return offset;
        const std::int32_t to = temporary(8);
        emit("add.u64", to, offset, special(static_cast<unsigned>(Hidden::local_base), 8));
        return to;
    }
    std::int32_t from = 0;
    bool narrow = false;
    if (m.base == Kind::reg) {
        from = reg(m.index);
        narrow = ptx::bytes_of(m.type) == 4;
    } else if (m.base == Kind::variable) {
        space = space_of_access(module_.variables[m.index], space);
        from = address_of(m.index, 0, 8);
    } else {
        from = constant(8, 0);
    }
    if (in_window(space)) {
        const std::int32_t to = temporary(8);
        DecodedOp& code = emit(cluster_control.generic_of_window, to, from);
        code.imm = m.value;
        if (narrow) code.flags |= flag::address32;
        return to;
    }
    if (narrow) {
        const std::int32_t wide = temporary(8);
        emit("cvt.u64.u32", wide, from);
        from = wide;
    }
    if (m.value == 0) return from;
    const std::int32_t to = temporary(8);
    emit("add.u64", to, from, constant(8, static_cast<std::uint64_t>(m.value)));
    return to;
}

void Decoder::asynchronous(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    const AsyncKind kind = async_kinds[i.form.row()];
    const ptx::Space space = static_cast<ptx::Space>(field::space.get(i.modifiers));
    if (const Handler run = mbarrier_handler(kind)) return mbarrier(i, run, space);
    const auto shared = [&](unsigned n) {
        return host_address(operand(i, n), ptx::Space::cluster_shared);
    };
    const auto global = [&](unsigned n) { return host_address(operand(i, n), ptx::Space::global); };
    const auto complete = [&](unsigned object, std::int32_t bytes) {
        const std::int32_t address = shared(object);
        emit(async_control.complete, 0, address, bytes).flags = flag::strong;
    };
    switch (kind) {
        case AsyncKind::CopyAsync: {
            const std::int64_t bytes = operand(i, 2).value;
            const bool all = form.opcode == Opcode::cp_async_cg;
            if (bytes != 16 && (all || (bytes != 4 && bytes != 8)))
                fail(i.line, "cp.async of " + std::to_string(bytes) + " bytes");
            const std::int32_t to = shared(0), from = global(1);
            const bool some = form.operands.count > 3;
            const bool ignores = some && form.operands.list[3] == OperandConstraint::np;
            const std::int32_t size = some && !ignores
                                          ? source(operand(i, 3), Type::b32)
                                          : constant(4, static_cast<std::uint64_t>(bytes));
            const std::int32_t none = ignores ? predicate(operand(i, 3)) : constant(0, 0);
            DecodedOp& code = emit(async_control.copy, 0, to, from, size);
            code.op[4] = none;
            code.imm = bytes;
            code.slot = kernel_->slots;
            kernel_->slots += 2;
            break;
        }
        case AsyncKind::Nothing:
            break;  // copies of the group are complete; a prefetch is a hint
        case AsyncKind::CreatePolicy:
            emit("mov.u64", destination(operand(i, 0)), constant(8, 0));  // hints have no effect
            break;
        case AsyncKind::FenceAddress:
            emit("fence.sc.sys", 0);
            break;
        case AsyncKind::BulkToShared:
        case AsyncKind::BulkToCluster:
        case AsyncKind::BulkToGlobal:
        case AsyncKind::BulkReduce: {
            const bool out = form.operands.count == 3, in = kind == AsyncKind::BulkToShared;
            const std::int32_t to = out ? global(0) : shared(0), from = in ? global(1) : shared(1);
            const std::int32_t bytes = source(operand(i, 2), Type::b32);
            BoundHandler run = async_control.bulk;
            if (kind == AsyncKind::BulkReduce)
                run = handlers_.find(i.form, Key{i.type, i.type2, i.modifiers});
            emit(run, 0, to, from, bytes);
            if (!out) complete(3, bytes);
            break;
        }
        case AsyncKind::BulkMulticast: {
            const std::int32_t to = shared(0), from = global(1),
                               bytes = source(operand(i, 2), Type::b32), object = shared(3),
                               blocks = source(operand(i, 4), Type::b16);
            DecodedOp& code = emit(async_control.multicast, 0, to, from, bytes);
            code.op[4] = object;
            code.op[5] = blocks;
            code.flags = flag::strong;
            break;
        }
        case AsyncKind::TensorLoad:
        case AsyncKind::TensorSend:
        case AsyncKind::TensorStore:
        case AsyncKind::TensorReduce:
            tensor(i, kind);
            break;
        case AsyncKind::TensorReplace:
            tensor_field(i, space);
            break;
        case AsyncKind::TensorCopyFence:
            if (operand(i, 2).value != 128) fail(i.line, "the size of a tensor map must be 128");
            emit(async_control.bulk, 0, global(0), shared(1), constant(4, 128));
            emit("fence.sc.sys", 0);
            break;
        case AsyncKind::StoreAsync: {
            const ptx::Operand& value = operand(i, 1);
            const unsigned count = value.kind == Kind::vector ? value.count : 1;
            std::int32_t values[4] = {};
            if (count > 4) fail(i.line, "vectors of more than 4 elements are not supported");
            for (unsigned k = 0; k < count; ++k)
                values[k] = relaxed_source(
                    value.kind == Kind::vector ? f_->operands[value.index + k] : value, i.type);
            const std::int32_t to = shared(0);
            const unsigned width = ptx::bytes_of(i.type);
            DecodedOp& code = emit(handlers_.find(width == 8 ? "st.b64" : "st.b32"));
            for (unsigned k = 0; k < count; ++k) code.op[k] = values[k];
            code.op[4] = to;
            code.count = static_cast<std::uint8_t>(count);
            code.flags = flag::strong;
            code.slot = kernel_->slots++;
            complete(2, constant(4, std::uint64_t{width} * count));
            break;
        }
        case AsyncKind::ReduceAsync: {
            const auto op = static_cast<ptx::Atomic>(field::operation.get(i.modifiers));
            const std::int32_t value = source(operand(i, 1), i.type), to = shared(0);
            const std::string opcode =
                "red." + std::string(spelled(op)) + "." + std::string(name_of(i.type));
            DecodedOp& code = emit(opcode, 0, value);
            code.op[4] = to;
            code.flags = flag::strong;
            code.slot = kernel_->slots++;
            complete(2, constant(4, ptx::bytes_of(i.type)));
            break;
        }
        case AsyncKind::Multimem:
            multimem(i, space);
            break;
        default:
            fail(i.line, "no handler for " + std::string(form.mnemonic));
    }
}

// A table of the kernel lists the coordinates' registers.
void Decoder::tensor(const ptx::Instruction& i, AsyncKind kind) {
    const bool reduces = kind == AsyncKind::TensorReduce;
    const bool store = kind == AsyncKind::TensorStore || reduces;
    const ptx::Operand& place = operand(i, store ? 0 : 1);
    const ptx::Operand& at = f_->operands[static_cast<std::size_t>(place.value)];
    std::vector<std::int32_t> coordinates;
    for (unsigned n = 0; n < at.count; ++n)
        coordinates.push_back(source(f_->operands[at.index + n], Type::b32));
    const std::int32_t box = host_address(operand(i, store ? 1 : 0), ptx::Space::cluster_shared);
    const std::int32_t bytes = store ? 0 : temporary(4);
    const std::int32_t object = store ? 0 : host_address(operand(i, 2), ptx::Space::cluster_shared);
    const auto& shapes = i.form.form().operands;
    const bool shifted = shapes.count > 3 && shapes.list[3] == OperandConstraint::shift;
    for (unsigned n = 0; shifted && n < operand(i, 3).count; ++n)
        coordinates.push_back(source(f_->operands[operand(i, 3).index + n], Type::b16));
    const std::int32_t blocks =
        kind == AsyncKind::TensorSend ? source(operand(i, shifted ? 4 : 3), Type::b16) : 0;
    DecodedOp& code = emit(reduces ? handlers_.find(i.form, Key{i.type, i.type2, i.modifiers})
                           : store ? BoundHandler(tensor_control.store)
                           : kind == AsyncKind::TensorSend ? BoundHandler(tensor_control.send)
                                                           : BoundHandler(tensor_control.load),
                           bytes, box, reg(place.index));
    code.op[4] = object;
    code.op[5] = blocks;
    code.flags = flag::strong;
    code.imm = static_cast<std::int64_t>(kernel_->tables.size());
    if (field::mode.get(i.modifiers) != 0) code.imm |= TensorControl::columns;
    if (shifted) code.imm |= TensorControl::shifted;
    kernel_->tables.push_back(std::move(coordinates));
    if (kind == AsyncKind::TensorLoad)
        emit(async_control.complete, 0, object, bytes).flags = flag::strong;
}

// tensormap.replace.tile.FIELD [map], [axis,] value
void Decoder::tensor_field(const ptx::Instruction& i, ptx::Space space) {
    constexpr auto first = static_cast<unsigned>(Opcode::tensormap_replace_global_address),
                   last = static_cast<unsigned>(Opcode::tensormap_replace_fill_mode);
    static_assert(last - first == static_cast<unsigned>(TensorControl::Field::fill_mode));
    static constexpr struct {
        std::string_view name;
        std::int64_t limit;  // of an axis, or of a value that is an immediate
    } fields[last - first + 1] = {
        {"global_address", 0}, {"rank", 0},           {"box_dim", 4},   {"global_dim", 4},
        {"global_stride", 3},  {"element_stride", 4}, {"elemtype", 12}, {"interleave_layout", 2},
        {"swizzle_mode", 3},   {"fill_mode", 1},
    };
    const ptx::Form& form = i.form.form();
    const unsigned field = static_cast<unsigned>(form.opcode) - first;
    const bool axis = form.operands.count == 3,
               written = form.operands.list[1] == OperandConstraint::imm;
    if (written && (operand(i, 1).value < 0 || operand(i, 1).value > fields[field].limit))
        fail(i.line, std::string(fields[field].name) + " " + std::to_string(operand(i, 1).value) +
                         " is not in 0 to " + std::to_string(fields[field].limit));
    const std::int32_t address = host_address(operand(i, 0), space);
    const std::int32_t value = source(operand(i, axis ? 2 : 1), i.type);
    DecodedOp& code = emit(tensor_control.replace, 0, address, value);
    code.flags = flag::strong;
    code.imm = static_cast<std::int64_t>(field) | (axis ? operand(i, 1).value << 8 : 0);
}

// op: as for mbarrier_handler(); a missing count is 1.
void Decoder::mbarrier(const ptx::Instruction& i, Handler run, ptx::Space space) {
    const ptx::Form& form = i.form.form();
    std::int32_t result = 0, object = 0, other = 0;
    for (unsigned n = 0; n < form.operands.count; ++n) {
        const ptx::Operand& o = operand(i, n);
        switch (form.operands.list[n]) {
            case OperandConstraint::d:
            case OperandConstraint::d32:
            case OperandConstraint::p:
                result = destination(o);
                break;
            case OperandConstraint::m:
                object = host_address(o, o.base == Kind::variable ? ptx::Space::shared : space);
                break;
            default:
                // A fourth operand limits the suspension time: a wait may end at any time.
                if (other == 0)
                    other = source(
                        o, form.operands.list[n] == OperandConstraint::a ? i.type : Type::b32);
                break;
        }
    }
    if (other == 0) other = constant(4, 1);
    emit(run, result, object, other).flags = flag::strong;
}

}  // namespace cupola::cpu::interpreter
