// csrc/cpu/emitter/statement.cpp - emits one operation as a C++ statement: a lane function of the
// table and its operands.
#include <cstdio>

#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using ptx::OperandConstraint;
using std::to_string;

namespace {

const char* rows_name(unsigned group) {
    switch (static_cast<ptx::InstructionGroupId>(group)) {
        case ptx::InstructionGroupId::integer:
            return "IntegerRows";
        case ptx::InstructionGroupId::real:
            return "RealRows";
        case ptx::InstructionGroupId::compare:
            return "CompareRows";
        case ptx::InstructionGroupId::convert:
            return "ConvertRows";
        default:
            return "MoveRows";
    }
}

std::string literal(std::uint64_t value, unsigned bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "static_cast<%s>(0x%llxull)", word_type(bytes).c_str(),
                  static_cast<unsigned long long>(value));
    return text;
}

}  // namespace

std::string variable_type(unsigned bytes) {
    return bytes == 0 ? "std::uint32_t" : "Lanes<" + to_string(bytes) + ">";
}
std::string fill(const std::string& name, unsigned bytes, std::int32_t offset) {
    return name + " = *reinterpret_cast<const " + variable_type(bytes) + "*>(r + " +
           to_string(offset) + ");";
}
std::string spill(const std::string& name, unsigned bytes, std::int32_t offset) {
    return "*reinterpret_cast<" + variable_type(bytes) + "*>(r + " + to_string(offset) +
           ") = " + name + ";";
}
std::string fill(const Register& r) { return fill(r.name(), r.bytes, r.offset); }
std::string spill(const Register& r) { return spill(r.name(), r.bytes, r.offset); }

std::string word_type(unsigned bytes) { return "std::uint" + to_string(8 * bytes) + "_t"; }

std::string CppEmitter::temporary(unsigned bytes) {
    const std::string name = "t" + to_string(temporaries_++);
    emit(variable_type(bytes) + " " + name + ";");
    return name;
}

std::string CppEmitter::row_type(const OpEffects& op) const {
    const ptx::FormId form = op.origin.form;
    const std::string name =
        std::string(rows_name(form.group())) + "::row<" + to_string(form.row()) + ">";
    char bits[32];
    std::snprintf(bits, sizeof bits, "0x%llxull",
                  static_cast<unsigned long long>(op.origin.key.modifiers));
    const std::string mods =
        "ModsOf<" + name + ", " + to_string(static_cast<unsigned>(op.origin.key.type)) + ", " +
        to_string(static_cast<unsigned>(op.origin.key.type2)) + ", " + bits + ">";
    return name + ", " + (op.any_nan ? "AnyNan<" + mods + ">" : mods);
}

std::string CppEmitter::input(const Access& access) {
    const Register* r = analysis_.at(access.offset);
    if (access.bytes == 0) {
        if (!r) return "predicate(0)";
        if (r->constant) return r->value ? "predicate(all_lanes)" : "predicate(0)";
        if (!r->in_file) return "predicate(" + r->name() + ")";
        const std::string t = temporary(0);
        emit(fill(t, 0, access.offset));
        return "predicate(" + t + ")";
    }
    if (!r) return "uniform(" + literal(0, access.bytes) + ")";
    if (r->constant) return "uniform(" + literal(r->value, access.bytes) + ")";
    if (r->uniform) return "uniform(" + r->name() + ")";
    if (block_batch_ && r->invariant_affine) {
        const std::string t = temporary(access.bytes);
        emit(t + " = expand_affine(l" + to_string(r->offset) + ", from);");
        return t;
    }
    if (!r->in_file) return r->name();
    const std::string t = temporary(access.bytes);
    emit(fill(t, access.bytes, access.offset));
    return t;
}

std::string CppEmitter::output(const Access& access, Output& out) {
    const Register* r = analysis_.at(access.offset);
    if (r && r->single_assignment) {
        emit(fill(*r));
        out.after += spill(*r);
    }
    if (r && !r->in_file) {
        out.masked |= masked(*r, out.guarded);
        return r->name();
    }
    const std::string t = temporary(access.bytes);
    if (!r) return t;
    emit(fill(t, access.bytes, access.offset));
    out.after += spill(t, access.bytes, access.offset);
    out.masked = true;
    return t;
}

std::string CppEmitter::predicate_output(const Access& p, const Access* q, Output& out) {
    std::string names;
    for (const Access* access : {&p, q}) {
        if (!access || access->offset == 0) {
            if (access == &p) names = temporary(0);
            if (access == &p) emit(names + " = 0;");
            continue;
        }
        const Register& r = *analysis_.at(access->offset);
        std::string name = r.name();
        if (r.in_file) {
            name = temporary(0);
            out.masked = true;
        }
        if (r.in_file || r.single_assignment) {
            emit(fill(name, 0, r.offset));
            out.after += spill(name, 0, r.offset);
        }
        out.masked |= masked(r, out.guarded);
        names += (names.empty() ? "" : ", ") + name;
    }
    return names;
}

void CppEmitter::emit_lanes(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const ptx::OperandConstraints& shapes = op.origin.form.form().operands;
    std::string text, to;
    Output first{op.guarded};
    std::size_t next = 0;
    for (unsigned k = 0; k < shapes.count; ++k) {
        text += ", ";
        if (shapes.list[k] == OperandConstraint::imm) {
            text += "immediate(" +
                    literal(static_cast<std::uint64_t>(analysis_.kernel.code[n].imm), 8) + ")";
            continue;
        }
        const Access& access = op.accesses[next++];
        if (!access.write || access.bytes != 0) {
            if (access.write) to = output(access, first);
            text += access.write ? to : input(access);
            continue;
        }
        const Access* second =
            shapes.list[k] == OperandConstraint::pq ? &op.accesses[next++] : nullptr;
        if (second && second->offset == 0) second = nullptr;
        if (k == 0 && !second) {
            text += predicate_output(access, nullptr, first);
        } else {
            Output own{op.guarded};
            const std::string names = predicate_output(access, second, own);
            text +=
                (own.masked ? "predicate_output<true>(" : "predicate_output<false>(") + names + ")";
            first.after += own.after;
        }
    }
    const std::string masked = first.masked ? "true" : "false";
    if (const auto found = quotient_variables_.find(n); found != quotient_variables_.end())
        emit("if (" + found->second + ".holds) write_affine<" + masked + ">(mask, " + to + ", " +
             found->second + "); else");
    emit((split_ ? "apply_lanes_outlined<" : "apply_lanes<") + row_type(op) + ", " + masked +
         ">(mask" + text + ");" + first.after);
}

void CppEmitter::emit_logic(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const ptx::FormId form = op.origin.form;
    std::string text;
    for (std::size_t k = 1; k < op.accesses.size(); ++k)
        text += ", " + input(op.accesses[k]) + ".bits";
    Output out{op.guarded};
    const std::string to = predicate_output(op.accesses[0], nullptr, out);
    emit("logic<" + std::string(rows_name(form.group())) + "::row<" + to_string(form.row()) +
         (out.masked ? ">, true" : ">, false") + ">(mask, " + to + text + ");" + out.after);
}

void CppEmitter::emit_computation(std::uint32_t n) {
    switch (analysis_.ops[n].kind) {
        case Kind::lanes:
            return emit_lanes(n);
        case Kind::pack:
            return emit_pack(n);
        case Kind::unpack:
            return emit_unpack(n);
        default:
            return emit_logic(n);
    }
}

std::string CppEmitter::parameter_text(const OpEffects& op, std::size_t k) const {
    const unsigned bytes = op.accesses[k].bytes;
    return "parameter<" + word_type(bytes) + ">(w, " +
           to_string(op.parameter + static_cast<std::int64_t>(k * bytes)) + ")";
}

// Emits an operation with a uniform result, as scalar code.
void CppEmitter::emit_uniform(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    if (op.kind == Kind::parameter) {
        for (std::size_t k = 0; k < op.accesses.size(); ++k)
            if (const Register* r = analysis_.at(op.accesses[k].offset))
                emit(r->name() + " = " + parameter_text(op, k) + ";");
        return;
    }
    const ptx::OperandConstraints& shapes = op.origin.form.form().operands;
    std::string text;
    std::size_t next = 0;
    for (unsigned k = 0; k < shapes.count; ++k) {
        text += k ? ", " : "";
        if (shapes.list[k] == OperandConstraint::imm) {
            text += "immediate(" + literal(static_cast<std::uint64_t>(c.imm), 8) + ")";
            continue;
        }
        const Access& access = op.accesses[next++];
        const Access* second =
            shapes.list[k] == OperandConstraint::pq ? &op.accesses[next++] : nullptr;
        const auto name = [&](const Access& a) {
            return a.offset != 0 ? analysis_.at(a.offset)->name() : std::string("unused");
        };
        if (!access.write)
            text += input(access);
        else if (access.bytes != 0)
            text += name(access);
        else if (second && second->offset != 0)
            text += "uniform_predicate(" + name(access) + ", " + name(*second) + ")";
        else
            text += k == 0 ? name(access) : "uniform_predicate(" + name(access) + ")";
    }
    emit("{ std::uint32_t unused; (void)unused; apply_uniform<" + row_type(op) + ">(" + text +
         "); }");
}

void CppEmitter::emit_count(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    if (op.kind == Kind::count) return emit("count_lines(w, mask, " + to_string(c.imm) + ");");
    const bool negate = (c.flags & interpreter::flag::negate) != 0;
    emit("{");
    const std::string p = input(op.accesses[0]);
    emit("count_branch(w, mask, " + std::string(negate ? "~" : "") + p + ".bits, " +
         to_string(c.imm) + "); }");
}

// Calls the interpreter's handler: spills the operands that it reads, and fills those that it
// writes.
void CppEmitter::emit_handler_call(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    std::string fills;
    for (const Access& access : op.accesses) {
        const Register* r = analysis_.at(access.offset);
        if (!r || r->in_file || r->constant) continue;
        if (r->uniform && r->bytes != 0) {
            if (!r->special)
                emit("spill_uniform(" + r->name() + ", r, " + to_string(r->offset) + ");");
            continue;
        }
        // A masked result keeps its inactive lanes, so it is spilled too.
        const bool keeps = !access.write || masked(*r, op.guarded);
        if (!r->special && keeps) emit(spill(*r));
        if (access.write) fills += fill(*r);
    }
    const bool masks = op.guarded || partial_[b];
    if (masks) emit("{ const std::uint32_t running = w.mask; s.set_mask(w, mask);");
    emit("next = s.handlers[" + to_string(n) + "](code + " + to_string(n) + ", w, r);");
    if (!fills.empty()) emit(fills);
    if (!op.no_fallthrough)
        emit("if (__builtin_expect(next != code + " + to_string(n + 1) + ", 0))");
    emit(jump_to_active(b));
    if (masks) emit("s.set_mask(w, running); }");
}

// Operations whose results are unused when accesses take the fast path, such as addresses.
// Compilers do not find all of them.
std::set<std::uint32_t> CppEmitter::unused_results(std::uint32_t b) const {
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
        for (std::size_t k = group_of_.count(n); k < op.accesses.size(); ++k)
            if (!op.accesses[k].write) wanted.insert(op.accesses[k].offset);
    }
    return found;
}

void CppEmitter::emit_statements(std::uint32_t b) {
    const Block& block = analysis_.blocks[b];
    const std::set<std::uint32_t> unused =
        path_ != Path::unchecked ? unused_results(b) : std::set<std::uint32_t>{};
    for (std::uint32_t n = block.first; n < block.end; ++n)
        if (unused.count(n) == 0 && !analysis_.is_block_barrier(n)) emit_statement(b, n);
}

void CppEmitter::emit_statement(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    const auto is_uniform = [&] {
        bool any = false;
        for (const Access& access : op.accesses)
            if (access.write && access.offset != 0) {
                any = true;
                if (!analysis_.at(access.offset)->uniform) return false;
            }
        return any;
    };
    if (op.hoisted) return;
    switch (op.kind) {
        case Kind::lanes:
            if (is_uniform()) break;  // computed once for the thread block or the warp
            emit("{");
            emit_lanes(n);
            emit("}");
            break;
        case Kind::logic:
        case Kind::pack:
        case Kind::unpack:
            emit("{");
            emit_computation(n);
            emit("}");
            break;
        case Kind::parameter: {
            if (is_uniform()) break;
            for (const Access& access : op.accesses)
                if (const Register* r = analysis_.at(access.offset); r && r->in_file)
                    return emit_handler_call(b, n);
            for (std::size_t k = 0; k < op.accesses.size(); ++k)
                if (const Register* r = analysis_.at(op.accesses[k].offset))
                    emit("splat<" + word_type(r->bytes) + ">(" + parameter_text(op, k) + ", " +
                         (masked(*r, op.guarded) ? "mask" : "all_lanes") + ", " + r->name() + ");");
            break;
        }
        case Kind::load:
        case Kind::store:
            emit_memory(b, n);
            break;
        case Kind::guard_begin: {
            emit("{ const std::uint32_t outer = mask;");
            const std::string p = input(op.accesses[0]);
            const bool negate = (c.flags & interpreter::flag::negate) != 0;
            emit("mask &= " + std::string(negate ? "~" : "") + p + ".bits;");
            emit("if (mask != 0) {");
            break;
        }
        case Kind::guard_end:
            emit("} mask = outer; }");
            break;
        case Kind::atomic:
            emit("{");
            emit_atomic(b, n);
            emit("}");
            break;
        case Kind::ballot:
            emit("{");
            emit_ballot(b, n);
            emit("}");
            break;
        case Kind::shuffle:
            emit("{");
            emit_shuffle(b, n);
            emit("}");
            break;
        case Kind::barrier:
            emit("{");
            emit_barrier(b, n);
            emit("}");
            break;
        case Kind::exit:
            emit("if (" +
                 (analysis_.has_barrier_regions ? regions() + ".exit(w, mask, s)"
                                                : std::string("exit_whole_warp(w, mask)")) +
                 ") goto next_warp;");
            [[fallthrough]];
        case Kind::handler:
            emit("{");
            emit_handler_call(b, n);
            emit("}");
            break;
        case Kind::count:
        case Kind::count_branch:
            emit_count(n);
            break;
        case Kind::jump:
        case Kind::join:
        case Kind::branch:
            break;  // emit_transfer
    }
}

}  // namespace cupola::cpu::compiler
