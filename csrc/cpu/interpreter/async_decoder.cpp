// csrc/cpu/interpreter/async_decoder.cpp - decodes instructions of asynchronous copies.
#include "cpu/interpreter/async_decoder.hpp"

#include <utility>

#include "cpu/base/tensor_map.hpp"
#include "cpu/interpreter/control.hpp"

namespace cupola::cpu::interpreter {
namespace {

constexpr AsyncKind async_kinds[] = {
#define FORM(mnemonic, semantics, ...) AsyncKind::semantics,
#include "ptx/table/async.inc"
#undef FORM
};

constexpr unsigned first_row(AsyncKind kind) {
    unsigned row = 0;
    while (async_kinds[row] != kind) ++row;
    return row;
}

// The rows of a vector of coordinates and, behind it, of x, y and z.
constexpr unsigned vector_query = first_row(AsyncKind::QueryBlock);
static_assert(async_kinds[vector_query + 3] == AsyncKind::QueryBlock);

}  // namespace

AsyncKind async_kind_of(ptx::FormId form) { return async_kinds[form.row()]; }

BoundHandler AsyncDecoder::row_handler(const ptx::Instruction& i) const {
    return code_.handlers().find(i.form, Key{i.type, i.type2, i.modifiers});
}

BoundHandler AsyncDecoder::part(const ptx::Instruction& i, Handler run) const {
    BoundHandler bound = row_handler(i);
    bound.run = run;
    return bound;
}

void AsyncDecoder::decode(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    const AsyncKind kind = async_kinds[i.form.row()];
    const ptx::Space space = static_cast<ptx::Space>(field::space.get(i.modifiers));
    if (const Handler run = mbarrier_handler(kind)) return mbarrier(i, run, space);
    const auto shared = [&](unsigned n) {
        return addresses_.host_address(functions_.operand(i, n), ptx::Space::cluster_shared);
    };
    const auto global = [&](unsigned n) {
        return addresses_.host_address(functions_.operand(i, n), ptx::Space::global);
    };
    const auto complete = [&](unsigned object, std::int32_t bytes) {
        const std::int32_t address = shared(object);
        code_.emit(part(i, async_control.complete), 0, address, bytes).flags = flag::strong;
    };
    // Accesses of a relaxed copy are strong.
    const std::uint8_t strong =
        field::order.get(i.modifiers) == static_cast<unsigned>(ptx::Order::relaxed) ? flag::strong
                                                                                    : 0;
    switch (kind) {
        case AsyncKind::CopyAsync: {
            const std::int64_t bytes = functions_.operand(i, 2).value;
            const bool all = form.opcode == Opcode::cp_async_cg;
            if (bytes != 16 && (all || (bytes != 4 && bytes != 8)))
                code_.fail(i.line, "cp.async of " + std::to_string(bytes) + " bytes");
            const std::int32_t to = shared(0), from = global(1);
            const bool some = form.operands.count > 3;
            const bool ignores = some && form.operands.list[3] == OperandConstraint::np;
            const std::int32_t size =
                some && !ignores ? operands_.source(functions_.operand(i, 3), Type::b32)
                                 : registers_.constant(4, static_cast<std::uint64_t>(bytes));
            const std::int32_t none =
                ignores ? operands_.predicate(functions_.operand(i, 3)) : registers_.constant(0, 0);
            DecodedOp& code = code_.emit(part(i, async_control.copy), 0, to, from, size);
            code.op[4] = none;
            code.imm = bytes;
            code.slot = code_.take_slots(2);
            break;
        }
        case AsyncKind::WaitGroup:
        case AsyncKind::WaitBulk:
        case AsyncKind::WaitBulkRead:
            code_.emit(part(i, async_control.group)).imm = functions_.operand(i, 0).value;
            break;
        case AsyncKind::CommitGroup:
        case AsyncKind::WaitAll:
        case AsyncKind::CommitBulk:
            code_.emit(part(i, async_control.group));
            break;
        case AsyncKind::Nothing:
            break;  // a prefetch is a hint
        case AsyncKind::CreatePolicy:
            code_.emit("mov.u64", operands_.destination(functions_.operand(i, 0)),
                       registers_.constant(8, 0));  // hints have no effect
            break;
        case AsyncKind::FenceAddress:
            code_.emit("fence.sc.sys", 0);
            break;
        case AsyncKind::BulkToShared:
        case AsyncKind::BulkToCluster:
        case AsyncKind::BulkToGlobal:
        case AsyncKind::BulkReduce: {
            const bool out = form.operands.count == 3, in = kind == AsyncKind::BulkToShared;
            const std::int32_t to = out ? global(0) : shared(0), from = in ? global(1) : shared(1);
            const std::int32_t bytes = operands_.source(functions_.operand(i, 2), Type::b32);
            code_
                .emit(kind == AsyncKind::BulkReduce ? row_handler(i) : part(i, async_control.bulk),
                      0, to, from, bytes)
                .flags = strong;
            if (!out) complete(3, bytes);
            break;
        }
        case AsyncKind::BulkMasked: {
            const unsigned last = form.operands.count - 1u;
            const std::int32_t to = global(0), from = shared(1),
                               bytes = operands_.source(functions_.operand(i, 2), Type::b32),
                               mask = operands_.source(functions_.operand(i, last), Type::b16);
            DecodedOp& code = code_.emit(part(i, async_control.masked), 0, to, from, bytes);
            code.op[4] = mask;
            code.flags = strong;
            break;
        }
        case AsyncKind::BulkInside: {
            const auto word = [&](unsigned n) {
                return operands_.source(functions_.operand(i, n), Type::b32);
            };
            const std::int32_t to = shared(0), from = global(1), bytes = word(2), left = word(3),
                               right = word(4);
            DecodedOp& code = code_.emit(part(i, async_control.inside), 0, to, from, bytes);
            code.op[4] = left;
            code.op[5] = right;
            code.flags = strong;
            complete(5, bytes);
            break;
        }
        case AsyncKind::BulkMulticast: {
            const std::int32_t to = shared(0), from = global(1),
                               bytes = operands_.source(functions_.operand(i, 2), Type::b32),
                               object = shared(3),
                               blocks = operands_.source(functions_.operand(i, 4), Type::b16);
            DecodedOp& code = code_.emit(part(i, async_control.multicast), 0, to, from, bytes);
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
            if (functions_.operand(i, 2).value != 128)
                code_.fail(i.line, "the size of a tensor map must be 128");
            code_.emit(async_control.bulk, 0, global(0), shared(1), registers_.constant(4, 128));
            code_.emit("fence.sc.sys", 0);
            break;
        case AsyncKind::StoreAsync: {
            const ptx::Operand& value = functions_.operand(i, 1);
            const unsigned count = value.kind == Kind::vector ? value.count : 1;
            std::int32_t values[4] = {};
            if (count > 4) code_.fail(i.line, "vectors of more than 4 elements are not supported");
            for (unsigned k = 0; k < count; ++k)
                values[k] = operands_.relaxed_source(functions_.element(value, k), i.type);
            const std::int32_t to = shared(0);
            const unsigned width = ptx::bytes_of(i.type);
            const std::string bits = std::to_string(8 * width);
            DecodedOp& code = code_.emit(part(i, code_.handlers().find("st.b" + bits).run));
            for (unsigned k = 0; k < count; ++k) code.op[k] = values[k];
            code.op[4] = to;
            code.count = static_cast<std::uint8_t>(count);
            code.flags = flag::strong;
            code.slot = code_.take_slots();
            complete(2, registers_.constant(4, std::uint64_t{width} * count));
            break;
        }
        case AsyncKind::StoreRelease: {
            const std::int32_t value = operands_.relaxed_source(functions_.operand(i, 1), i.type),
                               to = addresses_.host_address(functions_.operand(i, 0), space);
            const std::string bits = std::to_string(8 * ptx::bytes_of(i.type));
            DecodedOp& code = code_.emit(part(i, code_.handlers().find("st.b" + bits).run));
            code.op[0] = value;
            code.op[4] = to;
            code.count = 1;
            code.flags = flag::strong | flag::release;
            code.slot = code_.take_slots();
            break;
        }
        case AsyncKind::StoreZeros: {
            const Type size = form.operands.list[1] == OperandConstraint::w ? Type::b32 : Type::b64;
            const std::int32_t to = addresses_.host_address(functions_.operand(i, 0), space),
                               bytes = operands_.source(functions_.operand(i, 1), size);
            DecodedOp& code = code_.emit(async_control.zeros, 0, to, 0, bytes);
            code.count = static_cast<std::uint8_t>(ptx::bytes_of(size));
            code.flags = flag::strong;
            break;
        }
        case AsyncKind::ReduceAsync:
        case AsyncKind::ReduceRelease: {
            const bool far = kind == AsyncKind::ReduceRelease;
            const auto op = static_cast<ptx::Atomic>(field::operation.get(i.modifiers));
            const std::int32_t value = operands_.source(functions_.operand(i, 1), i.type),
                               to = far ? addresses_.host_address(functions_.operand(i, 0), space)
                                        : shared(0);
            // A sum has the same bits with and without signs, and red has one of them.
            const Type type = i.type == Type::s64 ? Type::u64 : i.type;
            const std::string opcode =
                "red." + std::string(spelled(op)) + "." + std::string(name_of(type));
            DecodedOp& code = code_.emit(part(i, code_.handlers().find(opcode).run), 0, value);
            code.op[4] = to;
            code.flags = flag::strong;
            code.slot = code_.take_slots();
            if (far)
                code.flags |= flag::release;
            else
                complete(2, registers_.constant(4, ptx::bytes_of(i.type)));
            break;
        }
        case AsyncKind::Multimem:
            memory_.multimem(i, space);
            break;
        case AsyncKind::TryCancel:
        case AsyncKind::TryCancelForAll: {
            const std::int32_t to = addresses_.host_address(functions_.operand(i, 0), space),
                               object = addresses_.host_address(functions_.operand(i, 1), space);
            DecodedOp& code = code_.emit(cluster_launch_control.cancel, 0, to, object);
            code.imm = kind == AsyncKind::TryCancelForAll;
            code.flags = flag::strong;
            break;
        }
        case AsyncKind::QueryCanceled: {
            const std::int32_t response = operands_.source(functions_.operand(i, 1), i.type2);
            code_.emit(cluster_launch_control.is_canceled,
                       operands_.destination(functions_.operand(i, 0)), response);
            break;
        }
        case AsyncKind::QueryBlock:
            first_block(i);
            break;
        default:
            code_.fail(i.line, "no handler for " + std::string(form.mnemonic));
    }
}

// The coordinates of a cancelled cluster's first block. The fourth element of a vector is 0.
void AsyncDecoder::first_block(const ptx::Instruction& i) {
    const std::int32_t response = operands_.source(functions_.operand(i, 1), i.type2);
    const ptx::Operand& to = functions_.operand(i, 0);
    const auto emit = [&](const ptx::Operand& o, unsigned axis) {
        if (o.kind == Kind::sink) return;
        code_.emit(cluster_launch_control.first_block, operands_.destination(o), response).imm =
            axis;
    };
    if (to.kind == Kind::vector)
        for (unsigned n = 0; n < to.count; ++n) emit(functions_.element(to, n), n);
    else
        emit(to, i.form.row() - vector_query - 1);
}

// A table of the kernel lists the coordinates' registers.
void AsyncDecoder::tensor(const ptx::Instruction& i, AsyncKind kind) {
    const bool reduces = kind == AsyncKind::TensorReduce;
    const bool store = kind == AsyncKind::TensorStore || reduces;
    const ptx::Operand& place = functions_.operand(i, store ? 0 : 1);
    const ptx::Operand& at = functions_.current().operands[static_cast<std::size_t>(place.value)];
    std::vector<std::int32_t> coordinates;
    for (unsigned n = 0; n < at.count; ++n)
        coordinates.push_back(
            operands_.source(functions_.current().operands[at.index + n], Type::b32));
    const std::int32_t box =
        addresses_.host_address(functions_.operand(i, store ? 1 : 0), ptx::Space::cluster_shared);
    const std::int32_t bytes = store ? 0 : registers_.temporary(4);
    const std::int32_t object =
        store ? 0 : addresses_.host_address(functions_.operand(i, 2), ptx::Space::cluster_shared);
    const auto& shapes = i.form.form().operands;
    const bool shifted = shapes.count > 3 && shapes.list[3] == OperandConstraint::shift;
    for (unsigned n = 0; shifted && n < functions_.operand(i, 3).count; ++n)
        coordinates.push_back(operands_.source(
            functions_.current().operands[functions_.operand(i, 3).index + n], Type::b16));
    const std::int32_t blocks =
        kind == AsyncKind::TensorSend
            ? operands_.source(functions_.operand(i, shifted ? 4 : 3), Type::b16)
            : 0;
    const Handler run = store                           ? tensor_control.store
                        : kind == AsyncKind::TensorSend ? tensor_control.send
                                                        : tensor_control.load;
    DecodedOp& code =
        code_.emit(reduces ? row_handler(i) : part(i, run), bytes, box, operands_.reg(place.index));
    code.op[4] = object;
    code.op[5] = blocks;
    code.flags = flag::strong;
    code.imm = static_cast<std::int64_t>(code_.kernel().tables.size());
    code.imm |= std::int64_t{field::mode.get(i.modifiers)} << TensorControl::mode_bit;
    if (field::part.get(i.modifiers) == 2) code.imm |= TensorControl::pair;
    if (shifted) code.imm |= TensorControl::shifted;
    code_.kernel().tables.push_back(std::move(coordinates));
    if (kind == AsyncKind::TensorLoad)
        code_.emit(part(i, async_control.complete), 0, object, bytes).flags = flag::strong;
}

// tensormap.replace.tile.FIELD [map], [axis,] value
void AsyncDecoder::tensor_field(const ptx::Instruction& i, ptx::Space space) {
    constexpr auto first = static_cast<unsigned>(Opcode::tensormap_replace_global_address),
                   last = static_cast<unsigned>(Opcode::tensormap_replace_swizzle_atomicity);
    static_assert(last - first == static_cast<unsigned>(TensorControl::Field::swizzle_atomicity));
    static constexpr struct {
        std::string_view name;
        std::int64_t limit;  // the limit of an axis, or of a value that is an immediate
    } fields[last - first + 1] = {
        {"global_address", 0},    {"rank", 0},
        {"box_dim", 4},           {"global_dim", 4},
        {"global_stride", 3},     {"element_stride", 4},
        {"elemtype", 12},         {"interleave_layout", 2},
        {"swizzle_mode", 3},      {"fill_mode", 1},
        {"swizzle_atomicity", 3},
    };
    const ptx::Form& form = i.form.form();
    const unsigned field = static_cast<unsigned>(form.opcode) - first;
    const bool axis = form.operands.count == 3,
               written = form.operands.list[1] == OperandConstraint::imm;
    const ptx::Target target = functions_.module().target;
    const bool packs = ptx::words::sm_100f_110f_120f.contains(target);
    const bool in_96_bytes = target.number == 103 && target.variant == 'a';
    const std::int64_t limit =
        packs && form.opcode == Opcode::tensormap_replace_elemtype ? 15
        : in_96_bytes && form.opcode == Opcode::tensormap_replace_swizzle_mode
            ? TensorMap::in_96_bytes
            : fields[field].limit;
    if (written && (functions_.operand(i, 1).value < 0 || functions_.operand(i, 1).value > limit))
        code_.fail(i.line, std::string(fields[field].name) + " " +
                               std::to_string(functions_.operand(i, 1).value) + " is not in 0 to " +
                               std::to_string(limit));
    const std::int32_t address = addresses_.host_address(functions_.operand(i, 0), space);
    const std::int32_t value = operands_.source(functions_.operand(i, axis ? 2 : 1), i.type);
    DecodedOp& code = code_.emit(tensor_control.replace, 0, address, value);
    code.flags = flag::strong;
    code.imm = static_cast<std::int64_t>(field) | (axis ? functions_.operand(i, 1).value << 8 : 0);
}

// op: as for mbarrier_handler(); a missing count is 1. The report is written first: a guarded wait
// has to be the last operation of its instruction.
void AsyncDecoder::mbarrier(const ptx::Instruction& i, Handler run, ptx::Space space) {
    const ptx::Form& form = i.form.form();
    std::int32_t result = 0, object = 0, other = 0, reported = 0, report = 0;
    for (unsigned n = 0; n < form.operands.count; ++n) {
        const ptx::Operand& o = functions_.operand(i, n);
        switch (form.operands.list[n]) {
            case OperandConstraint::d:
            case OperandConstraint::d32:
            case OperandConstraint::p:
                result = operands_.destination(o);
                break;
            case OperandConstraint::pq:
                result = operands_.destination(o);
                if (o.second != ptx::absent) reported = operands_.reg(o.second);
                break;
            case OperandConstraint::d8:
                report = operands_.destination(o);
                break;
            case OperandConstraint::m:
                object = addresses_.host_address(
                    o, o.base == Kind::variable ? ptx::Space::shared : space);
                break;
            default:
                // A fourth operand limits the suspension time: a wait may end at any time.
                if (other == 0)
                    other = operands_.source(
                        o, form.operands.list[n] == OperandConstraint::a ? i.type : Type::b32);
                break;
        }
    }
    if (other == 0) other = registers_.constant(4, 1);
    if (reported != 0 || report != 0) code_.emit(async_control.report, reported, 0, report);
    DecodedOp& code = code_.emit(part(i, run), result, object, other);
    code.flags = flag::strong;
    code.imm = field::mode.get(i.modifiers);
}

}  // namespace cupola::cpu::interpreter
