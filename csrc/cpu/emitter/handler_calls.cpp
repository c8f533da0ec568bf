// csrc/cpu/emitter/handler_calls.cpp - calls of the interpreter's handlers.
#include "cpu/emitter/handler_calls.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

void HandlerCalls::emit(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    std::string fills;
    for (const Access& access : op.accesses) {
        const Register* r = analysis_.at(access.offset);
        if (!r || r->in_file || r->constant) continue;
        if (r->uniform && r->bytes != 0) {
            if (!r->special) out_.emit(spill_uniform(*r));
            continue;
        }
        // A masked result keeps its inactive lanes, so it is spilled too.
        const bool keeps = !access.write || operands_.masked(*r, op.guarded);
        if (!r->special && keeps) out_.emit(spill(*r));
        if (access.write) fills += fill(*r);
    }
    const bool masks = op.guarded || masks_.is_partial(b);
    if (masks) out_.emit("{ const std::uint32_t running = w.mask; s.set_mask(w, mask);");
    out_.emit("next = s.handlers[" + to_string(n) + "](code + " + to_string(n) + ", w, r);");
    if (!fills.empty()) out_.emit(fills);
    if (!op.no_fallthrough)
        out_.emit("if (__builtin_expect(next != code + " + to_string(n + 1) + ", 0))");
    out_.emit(flow_.jump_to_active(b));
    if (masks) out_.emit("s.set_mask(w, running); }");
}

void HandlerCalls::emit_else(std::uint32_t b, std::uint32_t n) {
    out_.emit("} else {");
    emit(b, n);
    out_.emit("}");
}

}  // namespace cupola::cpu::compiler
