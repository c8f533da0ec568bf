// csrc/cpu/interpreter/symbol_addresses.cpp - places shared memory, and finds addresses.
#include "cpu/interpreter/symbol_addresses.hpp"

#include <algorithm>

namespace cupola::cpu::interpreter {
namespace {

std::uint32_t rounded_size(std::uint64_t n, std::uint32_t to) {
    return static_cast<std::uint32_t>(rounded(n, to));
}

// Whether blocks of a cluster may take different ways by their ranks, or work in pairs.
bool knows_rank(const ptx::Function& function) {
    using S = ptx::Special;
    const auto names_rank = [](const ptx::Operand& o) {
        const auto which = static_cast<S>(o.index);
        return o.kind == Kind::special &&
               (which == S::cluster_ctarank || which == S::cluster_ctaid_x ||
                which == S::cluster_ctaid_y || which == S::cluster_ctaid_z);
    };
    const auto uses_rank = [](const ptx::Instruction& i) {
        const ptx::Opcode opcode = i.form.opcode();
        const bool of_pair =
            i.form.group() == static_cast<unsigned>(ptx::InstructionGroupId::tcgen05) &&
            field::pair.get(i.modifiers) != 0;
        return opcode == ptx::Opcode::mapa || opcode == ptx::Opcode::getctarank || of_pair;
    };
    return std::any_of(function.operands.begin(), function.operands.end(), names_rank) ||
           std::any_of(function.code.begin(), function.code.end(), uses_rank);
}

}  // namespace

void SymbolAddresses::place_shared() {
    std::vector<std::uint32_t> open;
    std::uint64_t at = 0;
    for (const std::uint32_t n : functions_.list()) {
        const ptx::Function& function = functions_.module().functions[n];
        code_.kernel().knows_rank |= knows_rank(function);
        for (const ptx::Operand& o : function.operands) {
            const bool names =
                o.kind == Kind::variable || (o.kind == Kind::memory && o.base == Kind::variable);
            if (names) named_.insert(o.index);
            if (!names || functions_.module().variables[o.index].space != ptx::Space::shared ||
                !shared_at_.emplace(o.index, 0).second)
                continue;
            const ptx::Variable& v = functions_.module().variables[o.index];
            code_.kernel().shared_align = std::max(code_.kernel().shared_align, v.align);
            if (v.external || v.unsized) {
                open.push_back(o.index);
                continue;
            }
            at = rounded_size(at, v.align);
            shared_at_[o.index] = at;
            at += v.size;
        }
    }
    if (at > 227 * 1024)
        code_.fail(functions_.module().functions[functions_.list().back()].line,
                   "more than 227 KiB of static shared memory");
    code_.kernel().shared_bytes = static_cast<std::uint32_t>(at);
    for (const std::uint32_t n : open)
        shared_at_[n] = rounded_size(at, code_.kernel().shared_align);
}

std::uint64_t SymbolAddresses::variable_address(std::uint32_t variable) const {
    const ptx::Variable& v = functions_.module().variables[variable];
    if (v.space == ptx::Space::shared) return shared_at_.at(variable);
    if (v.external)
        code_.fail(code_.line(), "extern variable '" + v.name + "' is not defined", true);
    return placement_.addresses[variable];
}

// Addresses in shared memory are the same in every process.
std::int32_t SymbolAddresses::address_of(std::uint32_t variable, std::uint64_t offset,
                                         unsigned width) {
    const std::uint64_t at = variable_address(variable) + offset;
    return registers_.constant(width, width == 4 ? at & 0xffffffffu : at,
                               functions_.module().variables[variable].space != ptx::Space::shared);
}

std::int32_t SymbolAddresses::visible_address(std::uint32_t variable, std::uint64_t offset,
                                              unsigned width) {
    const std::int32_t at = address_of(variable, offset, width);
    const bool shared = functions_.module().variables[variable].space == ptx::Space::shared;
    if (!shared || !code_.kernel().knows_rank || width < 4) return at;
    std::int32_t window = registers_.special(Hidden::shared_window, 4);
    if (width == 8) {
        const std::int32_t wide = registers_.temporary(8);
        code_.emit("cvt.u64.u32", wide, window);
        window = wide;
    }
    const std::int32_t to = registers_.temporary(width);
    code_.emit(width == 8 ? "add.u64" : "add.u32", to, at, window);
    return to;
}

std::int32_t SymbolAddresses::frame_address(std::uint32_t variable, std::int64_t offset,
                                            unsigned width) {
    const std::uint64_t at =
        functions_.current().frame[variable].offset + static_cast<std::uint64_t>(offset);
    if (functions_.is_formal(variable)) {
        const std::int32_t base = registers_.special(Hidden::parameter_base, 8);
        if (width != 8)
            code_.fail(code_.line(), "the address of a parameter needs a register of 64 bits");
        const std::int32_t t = registers_.temporary(8);
        code_.emit("add.u64", t, base, registers_.constant(8, at));
        return t;
    }
    if (functions_.current().entry)
        return registers_.constant(width, width == 4 ? at & 0xffffffffu : at);
    const std::int32_t t = registers_.temporary(width);
    if (width == 4) {
        code_.emit("add.u32", t, code_.kernel().stack_pointer,
                   registers_.constant(4, at & 0xffffffffu));
    } else {
        code_.emit("cvt.u64.u32", t, code_.kernel().stack_pointer);
        code_.emit("add.u64", t, t, registers_.constant(8, at));
    }
    return t;
}

void SymbolAddresses::describe() {
    for (const std::uint32_t n : named_) {
        const ptx::Variable& v = functions_.module().variables[n];
        const bool shared = v.space == ptx::Space::shared;
        code_.kernel().variables.push_back(
            {v.name, shared, shared ? shared_at_[n] : placement_.addresses[n], v.size});
    }
}

}  // namespace cupola::cpu::interpreter
