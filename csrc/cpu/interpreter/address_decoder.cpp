// csrc/cpu/interpreter/address_decoder.cpp - finds state spaces and addresses of accesses.
#include "cpu/interpreter/address_decoder.hpp"

#include "cpu/interpreter/control.hpp"

namespace cupola::cpu::interpreter {
namespace {

// A window address names distributed shared memory, including the block's own.
bool in_window(ptx::Space space) {
    return space == ptx::Space::shared || space == ptx::Space::cluster_shared;
}

}  // namespace

ptx::Space AddressDecoder::space_of_access(const ptx::Variable& v, ptx::Space space) const {
    if (space == ptx::Space::generic && v.space != ptx::Space::constant) return v.space;
    const bool shared = space == ptx::Space::cluster_shared && v.space == ptx::Space::shared;
    if (space != v.space && !shared)
        code_.fail(code_.line(), "'" + v.name + "' is not in the state space of the instruction");
    return space;
}

ptx::Space AddressDecoder::place_address(const ptx::Operand& m, ptx::Space space, DecodedOp& code) {
    const bool of_entry = space == ptx::Space::entry_param;
    if (of_entry) space = ptx::Space::param;
    switch (m.base) {
        case Kind::reg:
            // Parameters of a device function are in its frame.
            if (space == ptx::Space::param && !of_entry && !functions_.current().entry)
                space = ptx::Space::local;
            code.op[4] = operands_.reg(m.index);
            code.imm = m.value;
            if (ptx::bytes_of(m.type) == 4) code.flags |= flag::address32;
            break;
        case Kind::variable: {
            space = space_of_access(functions_.module().variables[m.index], space);
            code.op[4] = symbols_.visible_address(m.index, 0, 8);
            code.imm = m.value;
            break;
        }
        case Kind::frame: {
            const ptx::Variable& v = functions_.current().frame[m.index];
            const bool suits = space == v.space || space == ptx::Space::local ||
                               (space == ptx::Space::generic && v.space == ptx::Space::local);
            if (functions_.is_formal(m.index) || !suits)
                code_.fail(code.line,
                           "'" + v.name + "' is not in the state space of the instruction");
            code.op[4] = code_.kernel().stack_pointer;
            code.flags |= flag::address32;
            code.imm = static_cast<std::int64_t>(v.offset + static_cast<std::uint64_t>(m.value));
            space = ptx::Space::local;
            break;
        }
        default:
            code.op[4] = registers_.constant(8, static_cast<std::uint64_t>(m.value));
            break;
    }
    return space;
}

std::int32_t AddressDecoder::host_address(const ptx::Operand& m, ptx::Space space) {
    if (m.base == Kind::frame) {
        const bool formal = functions_.is_formal(m.index);
        const std::int32_t offset = symbols_.frame_address(m.index, m.value, 8);
        if (formal) return offset;
        const std::int32_t to = registers_.temporary(8);
        code_.emit("add.u64", to, offset, registers_.special(Hidden::local_base, 8));
        return to;
    }
    std::int32_t from = 0;
    bool narrow = false;
    if (m.base == Kind::reg) {
        from = operands_.reg(m.index);
        narrow = ptx::bytes_of(m.type) == 4;
    } else if (m.base == Kind::variable) {
        space = space_of_access(functions_.module().variables[m.index], space);
        from = symbols_.address_of(m.index, 0, 8);
    } else {
        from = registers_.constant(8, 0);
    }
    if (in_window(space)) {
        const std::int32_t to = registers_.temporary(8);
        DecodedOp& code = code_.emit(cluster_control.generic_of_window, to, from);
        code.imm = m.value;
        if (narrow) code.flags |= flag::address32;
        return to;
    }
    if (narrow) {
        const std::int32_t wide = registers_.temporary(8);
        code_.emit("cvt.u64.u32", wide, from);
        from = wide;
    }
    if (m.value == 0) return from;
    const std::int32_t to = registers_.temporary(8);
    code_.emit("add.u64", to, from, registers_.constant(8, static_cast<std::uint64_t>(m.value)));
    return to;
}

}  // namespace cupola::cpu::interpreter
