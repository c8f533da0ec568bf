// csrc/cpu/emitter/statement.cpp - one instruction as a statement of C++: which lane function of
// the table, and which variables.
#include <cstdio>

#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using ptx::OperandConstraint;
using std::to_string;

namespace {

const char* chapter_name(unsigned chapter) {
    switch (static_cast<ptx::InstructionGroupId>(chapter)) {
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
    line(variable_type(bytes) + " " + name + ";");
    return name;
}

std::string CppEmitter::row(const OpEffects& step) const {
    const ptx::FormId form = step.origin.form;
    const std::string name =
        std::string(chapter_name(form.group())) + "::row<" + to_string(form.row()) + ">";
    char bits[32];
    std::snprintf(bits, sizeof bits, "0x%llxull",
                  static_cast<unsigned long long>(step.origin.key.modifiers));
    const std::string mods =
        "ModsOf<" + name + ", " + to_string(static_cast<unsigned>(step.origin.key.type)) + ", " +
        to_string(static_cast<unsigned>(step.origin.key.type2)) + ", " + bits + ">";
    return name + ", " + (step.any_nan ? "AnyNan<" + mods + ">" : mods);
}

std::string CppEmitter::input(const Access& access) {
    const Register* r = program_.at(access.offset);
    if (access.bytes == 0) {
        if (!r) return "predicate(0)";
        if (r->constant) return r->value ? "predicate(all_lanes)" : "predicate(0)";
        if (!r->file) return "predicate(" + r->name() + ")";
        const std::string t = temporary(0);
        line(fill(t, 0, access.offset));
        return "predicate(" + t + ")";
    }
    if (!r) return "one(" + literal(0, access.bytes) + ")";
    if (r->constant) return "one(" + literal(r->value, access.bytes) + ")";
    if (r->uniform) return "one(" + r->name() + ")";
    if (sweeping_ && r->invariant_affine) {
        const std::string t = temporary(access.bytes);
        line(t + " = lanes_along(l" + to_string(r->offset) + ", from);");
        return t;
    }
    if (!r->file) return r->name();
    const std::string t = temporary(access.bytes);
    line(fill(t, access.bytes, access.offset));
    return t;
}

std::string CppEmitter::output(const Access& access, Output& out) {
    const Register* r = program_.at(access.offset);
    if (r && r->single_assignment) {
        line(fill(*r));
        out.after += spill(*r);
    }
    if (r && !r->file) {
        out.masked |= masked(*r, out.guarded);
        return r->name();
    }
    const std::string t = temporary(access.bytes);
    if (!r) return t;
    line(fill(t, access.bytes, access.offset));
    out.after += spill(t, access.bytes, access.offset);
    out.masked = true;
    return t;
}

std::string CppEmitter::bits_output(const Access& p, const Access* q, Output& out) {
    std::string names;
    for (const Access* access : {&p, q}) {
        if (!access || access->offset == 0) {
            if (access == &p) names = temporary(0);
            if (access == &p) line(names + " = 0;");
            continue;
        }
        const Register& r = *program_.at(access->offset);
        std::string name = r.name();
        if (r.file) {
            name = temporary(0);
            out.masked = true;
        }
        if (r.file || r.single_assignment) {
            line(fill(name, 0, r.offset));
            out.after += spill(name, 0, r.offset);
        }
        out.masked |= masked(r, out.guarded);
        names += (names.empty() ? "" : ", ") + name;
    }
    return names;
}

void CppEmitter::lanes(std::uint32_t n) {
    const OpEffects& step = program_.steps[n];
    const ptx::OperandConstraints& shapes = step.origin.form.form().operands;
    std::string text, to;
    Output first{step.guarded};
    std::size_t next = 0;
    for (unsigned k = 0; k < shapes.count; ++k) {
        text += ", ";
        if (shapes.list[k] == OperandConstraint::imm) {
            text += "number(" +
                    literal(static_cast<std::uint64_t>(program_.kernel.code[n].imm), 8) + ")";
            continue;
        }
        const Access& access = step.accesses[next++];
        if (!access.write || access.bytes != 0) {
            if (access.write) to = output(access, first);
            text += access.write ? to : input(access);
            continue;
        }
        const Access* second =
            shapes.list[k] == OperandConstraint::pq ? &step.accesses[next++] : nullptr;
        if (second && second->offset == 0) second = nullptr;
        if (k == 0 && !second) {
            text += bits_output(access, nullptr, first);
        } else {
            Output own{step.guarded};
            const std::string names = bits_output(access, second, own);
            text += (own.masked ? "bits<true>(" : "bits<false>(") + names + ")";
            first.after += own.after;
        }
    }
    const std::string masked = first.masked ? "true" : "false";
    if (const auto found = line_at_.find(n); found != line_at_.end())
        line("if (" + found->second + ".holds) write_line<" + masked + ">(mask, " + to + ", " +
             found->second + "); else");
    line((parts_ ? "map_apart<" : "apply_lanes<") + row(step) + ", " + masked + ">(mask" + text +
         ");" + first.after);
}

void CppEmitter::logic(std::uint32_t n) {
    const OpEffects& step = program_.steps[n];
    const ptx::FormId form = step.origin.form;
    std::string text;
    for (std::size_t k = 1; k < step.accesses.size(); ++k)
        text += ", " + input(step.accesses[k]) + ".bits";
    Output out{step.guarded};
    const std::string to = bits_output(step.accesses[0], nullptr, out);
    line("logic<" + std::string(chapter_name(form.group())) + "::row<" + to_string(form.row()) +
         (out.masked ? ">, true" : ">, false") + ">(mask, " + to + text + ");" + out.after);
}

std::string CppEmitter::parameter(const OpEffects& step, std::size_t k) const {
    const unsigned bytes = step.accesses[k].bytes;
    return "parameter<" + word_type(bytes) + ">(w, " +
           to_string(step.parameter + static_cast<std::int64_t>(k * bytes)) + ")";
}

// An instruction whose results are the same for all lanes for ever.
void CppEmitter::once(std::uint32_t n) {
    const OpEffects& step = program_.steps[n];
    const DecodedOp& c = program_.kernel.code[n];
    if (step.kind == Kind::parameter) {
        for (std::size_t k = 0; k < step.accesses.size(); ++k)
            if (const Register* r = program_.at(step.accesses[k].offset))
                line(r->name() + " = " + parameter(step, k) + ";");
        return;
    }
    const ptx::OperandConstraints& shapes = step.origin.form.form().operands;
    std::string text;
    std::size_t next = 0;
    for (unsigned k = 0; k < shapes.count; ++k) {
        text += k ? ", " : "";
        if (shapes.list[k] == OperandConstraint::imm) {
            text += "number(" + literal(static_cast<std::uint64_t>(c.imm), 8) + ")";
            continue;
        }
        const Access& access = step.accesses[next++];
        const Access* second =
            shapes.list[k] == OperandConstraint::pq ? &step.accesses[next++] : nullptr;
        const auto name = [&](const Access& a) {
            return a.offset != 0 ? program_.at(a.offset)->name() : std::string("nowhere");
        };
        if (!access.write)
            text += input(access);
        else if (access.bytes != 0)
            text += name(access);
        else if (second && second->offset != 0)
            text += "bits_one(" + name(access) + ", " + name(*second) + ")";
        else
            text += k == 0 ? name(access) : "bits_one(" + name(access) + ")";
    }
    line("{ std::uint32_t nowhere; (void)nowhere; once<" + row(step) + ">(" + text + "); }");
}

// By the interpreter's own function: what it reads is put into the register file, what it writes
// is taken from there.
void CppEmitter::handler(std::uint32_t b, std::uint32_t n) {
    const OpEffects& step = program_.steps[n];
    std::string fills;
    for (const Access& access : step.accesses) {
        const Register* r = program_.at(access.offset);
        if (!r || r->file || r->constant) continue;
        if (r->uniform && r->bytes != 0) {
            if (!r->special) line("spill_one(" + r->name() + ", r, " + to_string(r->offset) + ");");
            continue;
        }
        // Read or not: what is masked keeps its other lanes.
        const bool keeps = !access.write || masked(*r, step.guarded);
        if (!r->special && keeps) line(spill(*r));
        if (access.write) fills += fill(*r);
    }
    if (guarded(step)) line("{ const std::uint32_t running = w.mask; s.set_mask(w, mask);");
    line("next = s.handlers[" + to_string(n) + "](code + " + to_string(n) + ", w, r);");
    if (!fills.empty()) line(fills);
    if (!step.ends) line("if (__builtin_expect(next != code + " + to_string(n + 1) + ", 0))");
    line(leaving(b));
    if (guarded(step)) line("s.set_mask(w, running); }");
}

// Where accesses go by their lines: whether instructions, from the last one on, have made what
// nobody reads, as addresses are. Compilers leave a part of it.
std::set<std::uint32_t> CppEmitter::unread(std::uint32_t b) const {
    const Block& block = program_.blocks[b];
    std::set<std::uint32_t> found;
    std::set<std::int32_t> wanted;
    for (std::uint32_t n = block.end; n-- > block.first;) {
        const OpEffects& step = program_.steps[n];
        bool drop = step.kind == Kind::lanes && !step.guarded;
        for (const Access& access : step.accesses) {
            const Register* r = access.write ? program_.at(access.offset) : nullptr;
            if (r)
                drop &= !r->file && !r->live_across_blocks && !r->single_assignment &&
                        wanted.count(r->offset) == 0;
        }
        if (drop) {
            found.insert(n);
            continue;
        }
        for (std::size_t k = group_of_.count(n); k < step.accesses.size(); ++k)
            if (!step.accesses[k].write) wanted.insert(step.accesses[k].offset);
    }
    return found;
}

void CppEmitter::statements(std::uint32_t b) {
    const Block& block = program_.blocks[b];
    const std::set<std::uint32_t> idle = full_ ? unread(b) : std::set<std::uint32_t>{};
    for (std::uint32_t n = block.first; n < block.end; ++n)
        if (idle.count(n) == 0) statement(b, n);
}

void CppEmitter::statement(std::uint32_t b, std::uint32_t n) {
    const OpEffects& step = program_.steps[n];
    const DecodedOp& c = program_.kernel.code[n];
    const auto is_same = [&] {
        bool any = false;
        for (const Access& access : step.accesses)
            if (access.write && access.offset != 0) {
                any = true;
                if (!program_.at(access.offset)->uniform) return false;
            }
        return any;
    };
    if (step.hoisted) return;
    switch (step.kind) {
        case Kind::lanes:
            if (is_same()) break;  // constants of the block or the warp
            line("{");
            lanes(n);
            line("}");
            break;
        case Kind::logic:
            line("{");
            logic(n);
            line("}");
            break;
        case Kind::parameter: {
            if (is_same()) break;
            for (const Access& access : step.accesses)
                if (const Register* r = program_.at(access.offset); r && r->file)
                    return handler(b, n);
            for (std::size_t k = 0; k < step.accesses.size(); ++k)
                if (const Register* r = program_.at(step.accesses[k].offset))
                    line("set_same<" + word_type(r->bytes) + ">(" + parameter(step, k) + ", " +
                         (masked(*r, step.guarded) ? "mask" : "all_lanes") + ", " + r->name() +
                         ");");
            break;
        }
        case Kind::load:
        case Kind::store:
            memory(b, n);
            break;
        case Kind::guard_begin: {
            line("{ const std::uint32_t outer = mask;");
            const std::string p = input(step.accesses[0]);
            const bool negate = (c.flags & interpreter::flag::negate) != 0;
            line("mask &= " + std::string(negate ? "~" : "") + p + ".bits;");
            line("if (mask != 0) {");
            break;
        }
        case Kind::guard_end:
            line("} mask = outer; }");
            break;
        case Kind::atomic:
            line("{");
            atomic(b, n);
            line("}");
            break;
        case Kind::ballot:
            line("{");
            ballot(b, n);
            line("}");
            break;
        case Kind::shuffle:
            line("{");
            shuffle(b, n);
            line("}");
            break;
        case Kind::barrier:
            line("{");
            barrier(b, n);
            line("}");
            break;
        case Kind::exit:
            line("if (ends_whole(w, mask)) goto turned;");
            [[fallthrough]];
        case Kind::handler:
            line("{");
            handler(b, n);
            line("}");
            break;
        case Kind::jump:
        case Kind::join:
        case Kind::branch:
            break;  // transfer
    }
}

}  // namespace cupola::cpu::compiler
