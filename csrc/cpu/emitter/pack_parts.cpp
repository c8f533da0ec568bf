// csrc/cpu/emitter/pack_parts.cpp - emits mov between a register and a vector of its parts.
#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

void CppEmitter::emit_pack(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    if (op.accesses[0].offset == 0) return;
    std::string parts;
    for (std::size_t k = 1; k < op.accesses.size(); ++k) parts += ", " + input(op.accesses[k]);
    Output out{op.guarded};
    const std::string to = output(op.accesses[0], out);
    emit(std::string("pack_parts<") + (out.masked ? "true" : "false") + ">(mask, " + to + parts +
         ");" + out.after);
}
void CppEmitter::emit_unpack(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    // A part may replace the whole.
    const std::string whole = input(op.accesses[0]);
    emit("const auto whole = " + whole + ";");
    for (std::size_t k = 1; k < op.accesses.size(); ++k) {
        if (op.accesses[k].offset == 0) continue;
        Output out{op.guarded};
        const std::string to = output(op.accesses[k], out);
        emit("unpack_part<" + to_string(k - 1) + (out.masked ? ", true" : ", false") + ">(mask, " +
             to + ", whole);" + out.after);
    }
}

}  // namespace cupola::cpu::compiler
