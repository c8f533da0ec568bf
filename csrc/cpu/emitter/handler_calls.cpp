// csrc/cpu/emitter/handler_calls.cpp - calls of the interpreter's handlers.
#include "cpu/emitter/handler_calls.hpp"

#include <algorithm>
#include <set>

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

// The operation before which a run of block b's handlers ends.
std::uint32_t HandlerCalls::end_of_run(std::uint32_t b) const {
    const std::uint32_t end = analysis_.blocks[b].end;
    switch (analysis_.ops[end - 1].kind) {
        case Kind::branch:
        case Kind::jump:
        case Kind::join:
            return end - 1;
        default:
            return end;
    }
}

bool HandlerCalls::may_run(std::uint32_t b) const {
    for (std::uint32_t n = analysis_.blocks[b].first; n < end_of_run(b); ++n)
        if (!never_waits(analysis_.ops[n].kind)) return false;
    return true;
}

bool HandlerCalls::reads(std::uint32_t n, const Register& r) const {
    const std::vector<Access>& all = analysis_.ops[n].accesses;
    return std::any_of(all.begin(), all.end(), [&](const Access& access) {
        return !access.write && access.offset == r.offset;
    });
}

// Spills the constants of registers that operations `first` to `end` - 1 read before they write
// them: emitted code reads the constants in place of the registers.
void HandlerCalls::emit_replaced(std::uint32_t first, std::uint32_t end) {
    std::set<std::int32_t> known;
    for (std::uint32_t n = first; n < end; ++n) {
        for (const Access& access : analysis_.ops[n].accesses)
            if (access.replaced != 0 && known.insert(access.replaced).second) {
                const std::uint64_t value = analysis_.at(access.offset)->value;
                out_.emit("spill_constant(mask, " + literal(value, access.bytes) + ", r, " +
                          to_string(access.replaced) + ");");
            }
        for (const Access& access : analysis_.ops[n].accesses)
            if (access.write) known.insert(access.offset);
    }
}

void HandlerCalls::emit_block(std::uint32_t b) {
    const Block& block = analysis_.blocks[b];
    const std::uint32_t end = end_of_run(b);
    emit_replaced(block.first, end);
    std::set<std::int32_t> spilled, filled;
    std::string fills;
    for (std::uint32_t n = block.first; n < end; ++n)
        for (const Access& access : analysis_.ops[n].accesses) {
            const Register* r = analysis_.at(access.offset);
            if (!r || r->in_file || r->constant || r->special) continue;
            if (r->uniform) {
                if (!access.write && spilled.insert(r->offset).second)
                    out_.emit(r->bytes == 0 ? spill(*r) : spill_uniform(*r));
                continue;
            }
            // The handlers keep the values of inactive lanes, so results are spilled too. A
            // register that is not live between blocks has no value yet.
            if (r->live_across_blocks && spilled.insert(r->offset).second) out_.emit(spill(*r));
            const bool wanted = r->live_across_blocks || (end < block.end && reads(end, *r));
            if (access.write && wanted && filled.insert(r->offset).second) fills += fill(*r);
        }
    out_.emit("next = run_handlers(w, mask, r, s, " + to_string(block.first) + ", " +
              to_string(end) + ");");
    if (!fills.empty()) out_.emit(fills);
    out_.emit("if (__builtin_expect(next != code + " + to_string(end) + ", 0)) " +
              flow_.jump_to_active(b));
}

}  // namespace cupola::cpu::compiler
