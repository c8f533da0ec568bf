// csrc/cpu/emitter/statements.cpp - the operations of a basic block as C++ statements.
#include "cpu/emitter/statements.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

// Operations whose results are unused when accesses take the fast path, such as addresses.
// Compilers do not find all of them.
std::set<std::uint32_t> Statements::unused_results(std::uint32_t b) const {
    const Block& block = analysis_.blocks[b];
    std::set<std::uint32_t> found;
    std::set<std::int32_t> wanted;
    for (std::uint32_t n = block.end; n-- > block.first;) {
        const OpEffects& op = analysis_.ops[n];
        bool drop = op.kind == Kind::lanes && !op.guarded;
        for (const Access& access : op.accesses) {
            const Register* r = access.write ? analysis_.at(access.offset) : nullptr;
            if (r)
                drop &= !r->in_file && !r->live_across_blocks && !r->single_assignment &&
                        wanted.count(r->offset) == 0;
        }
        if (drop) {
            found.insert(n);
            continue;
        }
        for (std::size_t k = addresses_.group_of(n) ? 1 : 0; k < op.accesses.size(); ++k)
            if (!op.accesses[k].write) wanted.insert(op.accesses[k].offset);
    }
    return found;
}

void Statements::emit_block(std::uint32_t b) {
    const Block& block = analysis_.blocks[b];
    const std::set<std::uint32_t> unused =
        operands_.path() != Path::unchecked ? unused_results(b) : std::set<std::uint32_t>{};
    for (std::uint32_t n = block.first; n < block.end; ++n)
        if (unused.count(n) == 0 && !analysis_.is_block_barrier(n)) emit(b, n);
}

// Whether an operation has results, and all are uniform.
bool Statements::is_uniform(const OpEffects& op) const {
    bool any = false;
    for (const Access& access : op.accesses)
        if (access.write && access.offset != 0) {
            any = true;
            if (!analysis_.at(access.offset)->uniform) return false;
        }
    return any;
}

void Statements::emit(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    if (op.hoisted) return;
    switch (op.kind) {
        case Kind::lanes:
            if (is_uniform(op)) break;  // computed once for the thread block or the warp
            out_.emit("{");
            computations_.emit(n);
            out_.emit("}");
            break;
        case Kind::logic:
        case Kind::pack:
        case Kind::unpack:
            out_.emit("{");
            computations_.emit(n);
            out_.emit("}");
            break;
        case Kind::parameter:
            if (is_uniform(op)) break;
            for (const Access& access : op.accesses)
                if (const Register* r = analysis_.at(access.offset); r && r->in_file)
                    return handlers_.emit(b, n);
            computations_.emit_parameter(n);
            break;
        case Kind::load:
        case Kind::store:
            accesses_.emit_access(b, n);
            break;
        case Kind::guard_begin: {
            out_.emit("{ const std::uint32_t outer = mask;");
            const std::string p = operands_.input(op.accesses[0]);
            const bool negate = (c.flags & interpreter::flag::negate) != 0;
            out_.emit("mask &= " + std::string(negate ? "~" : "") + p + ".bits;");
            out_.emit("if (mask != 0) {");
            break;
        }
        case Kind::guard_end:
            out_.emit("} mask = outer; }");
            break;
        case Kind::atomic:
            out_.emit("{");
            accesses_.emit_atomic(b, n);
            out_.emit("}");
            break;
        case Kind::ballot:
            out_.emit("{");
            emit_ballot(b, n);
            out_.emit("}");
            break;
        case Kind::shuffle:
            out_.emit("{");
            emit_shuffle(b, n);
            out_.emit("}");
            break;
        case Kind::barrier:
            out_.emit("{");
            emit_barrier(b, n);
            out_.emit("}");
            break;
        case Kind::exit:
            out_.emit("if (" +
                      (analysis_.has_barrier_regions ? part_.regions() + ".exit(w, mask, s)"
                                                     : std::string("exit_whole_warp(w, mask)")) +
                      ") goto next_warp;");
            [[fallthrough]];
        case Kind::handler:
            out_.emit("{");
            handlers_.emit(b, n);
            out_.emit("}");
            break;
        case Kind::count:
        case Kind::count_branch:
            computations_.emit_count(n);
            break;
        case Kind::observed:
            break;
        case Kind::jump:
        case Kind::join:
        case Kind::branch:
            break;  // see ControlFlow::emit_transfer
    }
}

// If all lanes are active and take part in the operation, no lane has to be waited for.
void Statements::emit_ballot(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const Register* to = analysis_.at(op.accesses[0].offset);
    const Register* members = analysis_.at(op.accesses[2].offset);
    if (!to || to->in_file || !members || !(members->constant || members->uniform))
        return handlers_.emit(b, n);
    const std::string p = operands_.input(op.accesses[1]);
    out_.emit("if (__builtin_expect(mask == all_lanes && " + operands_.input(op.accesses[2]) +
              ".value == all_lanes, 1)) {");
    out_.emit("splat<std::uint32_t>(" + p + ".bits, all_lanes, " + to->name() + ");");
    handlers_.emit_else(b, n);
}

void Statements::emit_shuffle(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const Register* to = analysis_.at(op.accesses[0].offset);
    const Register* valid = analysis_.at(op.accesses[1].offset);
    const Register* members = analysis_.at(op.accesses[5].offset);
    if (!to || to->in_file || (valid && valid->in_file) || !members) return handlers_.emit(b, n);
    const auto mode = static_cast<unsigned>(
        static_cast<ptx::Mode>(ptx::field::mode.get(op.origin.key.modifiers)));
    std::string sources;
    for (const std::size_t k : {2, 3, 4}) sources += ", " + operands_.input(op.accesses[k]);
    out_.emit("if (__builtin_expect(mask == all_lanes && are_members(" +
              operands_.input(op.accesses[5]) + "), 1)) {");
    out_.emit("const std::uint32_t valid = shuffle<static_cast<ptx::Mode>(" + to_string(mode) +
              ")>(" + to->name() + sources + "); (void)valid;");
    if (valid) out_.emit(valid->name() + " = valid;");
    handlers_.emit_else(b, n);
}

// A whole warp usually arrives at once. That case needs no handler.
void Statements::emit_barrier(std::uint32_t b, std::uint32_t n) {
    if (!analysis_.is_block_barrier(n)) return handlers_.emit(b, n);
    const std::string id = to_string(analysis_.at(analysis_.ops[n].accesses[0].offset)->value);
    out_.emit("if (__builtin_expect(is_whole(w, mask), 1)) {");
    out_.emit("if (!" +
              (analysis_.has_barrier_regions
                   ? part_.regions() + ".arrive(w, " + to_string(n) + ", " + id + ", s)"
                   : "arrive_whole_warp(w, code + " + to_string(n) + ", " + id + ", s.release)") +
              ") { " + part_.spill_live(b + 1) + "goto next_warp; }");
    out_.emit("} else { " + part_.leave_regions());
    handlers_.emit(b, n);
    out_.emit("}");
}

}  // namespace cupola::cpu::compiler
