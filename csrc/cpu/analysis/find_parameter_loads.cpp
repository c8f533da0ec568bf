// csrc/cpu/analysis/find_parameter_loads.cpp - finds loads of parameters by their address.
#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

using namespace interpreter;
using ptx::Opcode;

// Loads at a constant offset from the parameters' address become loads of parameters. Compilers
// emit them for members of structures.
void find_parameter_loads(KernelAnalysis& analysis) {
    // The registers that have an address in the parameters, by their offsets: how many bytes that
    // address is after the parameters' address.
    std::map<std::int32_t, std::uint64_t> addresses;
    for (const auto& [which, offset] : analysis.kernel.specials)
        if (which == static_cast<unsigned>(Hidden::parameter_base)) addresses[offset] = 0;
    if (addresses.empty()) return;
    const auto address_of = [&](const Access& access, std::uint64_t& at) {
        const auto found = addresses.find(access.offset);
        if (found != addresses.end()) at = found->second;
        return found != addresses.end();
    };
    for (std::uint32_t n = 0; n < analysis.ops.size(); ++n) {
        OpEffects& op = analysis.ops[n];
        std::uint64_t at = 0;
        if (!op.has_form || op.guarded || op.accesses.empty()) continue;
        if (op.kind == Kind::lanes && op.accesses[0].bytes == 8) {
            const Register* to =
                op.accesses[0].write ? analysis.at(op.accesses[0].offset) : nullptr;
            if (!to || to->writes != 1 || to->in_file) continue;
            const Opcode opcode = op.origin.form.opcode();
            const std::size_t last = op.accesses.size() - 1;
            if (opcode == Opcode::mov && last == 1 && address_of(op.accesses[1], at))
                addresses[to->offset] = at;
            if (opcode != Opcode::add || last != 2 || op.origin.key.type == ptx::Type::f64)
                continue;
            for (const std::size_t k : {1, 2}) {
                const Register* by = analysis.at(op.accesses[3 - k].offset);
                if (by && by->constant && address_of(op.accesses[k], at))
                    addresses[to->offset] = at + by->value;
            }
        }
        if (op.kind != Kind::load || !address_of(op.accesses[0], at)) continue;
        bool in_variables = true;
        for (std::size_t k = 1; k < op.accesses.size(); ++k)
            if (const Register* to = analysis.at(op.accesses[k].offset))
                in_variables &= !to->in_file;
        const auto space = static_cast<ptx::Space>(ptx::field::space.get(op.origin.key.modifiers));
        const std::uint64_t all =
            std::uint64_t{ptx::bytes_of(op.origin.key.type)} * (op.accesses.size() - 1);
        at += static_cast<std::uint64_t>(analysis.kernel.code[n].imm);
        if (!in_variables || space == ptx::Space::shared || at % all != 0 ||
            at > analysis.kernel.parameter_bytes || analysis.kernel.parameter_bytes - at < all)
            continue;
        op.kind = Kind::parameter;
        op.parameter = static_cast<std::int64_t>(at);
        op.accesses.erase(op.accesses.begin());
    }
}

}  // namespace cupola::cpu::compiler
