// csrc/cpu/interpreter/multimem.cpp - multimem instructions on memory of one device.
//
// No device here has multicast memory (CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED is 0), so every
// address is of one device. An H200 then stores and reduces as `st` and `red` do. It reduces in
// global memory only, and faults at a load.
#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/decode.hpp"

namespace cupola::cpu::interpreter {
namespace {

// op: [1] generic address.
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

void Decoder::multimem(const ptx::Instruction& i, ptx::Space space) {
    const ptx::Form& form = i.form.form();
    const bool loads = form.operands.list[1] == ptx::OperandConstraint::m;
    const bool stores = form.opcode == Opcode::multimem_st;
    const std::int32_t address = host_address(operand(i, loads ? 1 : 0), space);
    if (!stores)
        emit(loads ? &threaded<&of_one_device<true>> : &threaded<&of_one_device<false>>, 0,
             address);
    if (loads) return;
    const ptx::Operand& value = operand(i, 1);
    const bool vector = value.kind == ptx::Operand::Kind::vector;
    const unsigned count = vector ? value.count : 1, width = ptx::bytes_of(i.type);
    std::int32_t values[8] = {};
    for (unsigned k = 0; k < count; ++k)
        values[k] = relaxed_source(vector ? f_->operands[value.index + k] : value, i.type);
    DecodedOp code;
    code.line = i.line;
    code.op[4] = address;
    code.flags = flag::strong | flag::release;
    if (stores) {
        handlers_.find("st.b" + std::to_string(8 * width)).bind(code);
        if (count > 4) return in_halves(code, values, width);
        for (unsigned k = 0; k < count; ++k) code.op[k] = values[k];
        code.count = static_cast<std::uint8_t>(count);
        code.slot = kernel_->slots++;
        kernel_->code.push_back(code);
        return;
    }
    emit(alignment_check, 0, address).imm = std::int64_t{width} * count;
    handlers_.find(plain_reduction(i)).bind(code);
    for (unsigned k = 0; k < count; ++k) {
        code.op[1] = values[k];
        code.imm = std::int64_t{k} * width;
        code.slot = kernel_->slots++;
        kernel_->code.push_back(code);
    }
}

}  // namespace cupola::cpu::interpreter
