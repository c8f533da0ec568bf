// csrc/cpu/emitter/computations.cpp - operations on registers as C++ statements.
#include "cpu/emitter/computations.hpp"

namespace cupola::cpu::compiler {

using ptx::OperandConstraint;
using std::to_string;

namespace {

std::string parameter_text(const OpEffects& op, std::size_t k) {
    const unsigned bytes = op.accesses[k].bytes;
    return "parameter<" + word_type(bytes) + ">(w, " +
           to_string(op.parameter + static_cast<std::int64_t>(k * bytes)) + ")";
}

}  // namespace

void Computations::emit(std::uint32_t n) {
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

void Computations::emit_lanes(std::uint32_t n) {
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
            if (access.write) to = operands_.output(access, first);
            text += access.write ? to : operands_.input(access);
            continue;
        }
        const Access* second =
            shapes.list[k] == OperandConstraint::pq ? &op.accesses[next++] : nullptr;
        if (second && second->offset == 0) second = nullptr;
        if (k == 0 && !second) {
            text += operands_.predicate_output(access, nullptr, first);
        } else {
            Output own{op.guarded};
            const std::string names = operands_.predicate_output(access, second, own);
            text +=
                (own.masked ? "predicate_output<true>(" : "predicate_output<false>(") + names + ")";
            first.after += own.after;
        }
    }
    const std::string masked = first.masked ? "true" : "false";
    if (const std::string* quotient = addresses_.quotient(n))
        out_.emit("if (" + *quotient + ".holds) write_affine<" + masked + ">(mask, " + to + ", " +
                  *quotient + "); else");
    out_.emit((part_.is_split() ? "apply_lanes_outlined<" : "apply_lanes<") + row_type(op) + ", " +
              masked + ">(mask" + text + ");" + first.after);
}

void Computations::emit_logic(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    std::string text;
    for (std::size_t k = 1; k < op.accesses.size(); ++k)
        text += ", " + operands_.input(op.accesses[k]) + ".bits";
    Output out{op.guarded};
    const std::string to = operands_.predicate_output(op.accesses[0], nullptr, out);
    out_.emit("logic<" + row_name(op) + (out.masked ? ", true" : ", false") + ">(mask, " + to +
              text + ");" + out.after);
}

void Computations::emit_pack(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    if (op.accesses[0].offset == 0) return;
    std::string parts;
    for (std::size_t k = 1; k < op.accesses.size(); ++k)
        parts += ", " + operands_.input(op.accesses[k]);
    Output out{op.guarded};
    const std::string to = operands_.output(op.accesses[0], out);
    out_.emit(std::string("pack_parts<") + (out.masked ? "true" : "false") + ">(mask, " + to +
              parts + ");" + out.after);
}

void Computations::emit_unpack(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    // A write of a part may replace the whole register.
    const std::string whole = operands_.input(op.accesses[0]);
    out_.emit("const auto whole = " + whole + ";");
    for (std::size_t k = 1; k < op.accesses.size(); ++k) {
        if (op.accesses[k].offset == 0) continue;
        Output out{op.guarded};
        const std::string to = operands_.output(op.accesses[k], out);
        out_.emit("unpack_part<" + to_string(k - 1) + (out.masked ? ", true" : ", false") +
                  ">(mask, " + to + ", whole);" + out.after);
    }
}

void Computations::emit_parameter(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    for (std::size_t k = 0; k < op.accesses.size(); ++k)
        if (const Register* r = analysis_.at(op.accesses[k].offset))
            out_.emit("splat<" + word_type(r->bytes) + ">(" + parameter_text(op, k) + ", " +
                      (operands_.masked(*r, op.guarded) ? "mask" : "all_lanes") + ", " + r->name() +
                      ");");
}

void Computations::emit_uniform(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    if (op.kind == Kind::parameter) {
        for (std::size_t k = 0; k < op.accesses.size(); ++k)
            if (const Register* r = analysis_.at(op.accesses[k].offset))
                out_.emit(r->name() + " = " + parameter_text(op, k) + ";");
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
            text += operands_.input(access);
        else if (access.bytes != 0)
            text += name(access);
        else if (second && second->offset != 0)
            text += "uniform_predicate(" + name(access) + ", " + name(*second) + ")";
        else
            text += k == 0 ? name(access) : "uniform_predicate(" + name(access) + ")";
    }
    out_.emit("{ std::uint32_t unused; (void)unused; apply_uniform<" + row_type(op) + ">(" + text +
              "); }");
}

void Computations::emit_count(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    if (op.kind == Kind::count) return out_.emit("count_lines(w, mask, " + to_string(c.imm) + ");");
    const bool negate = (c.flags & interpreter::flag::negate) != 0;
    out_.emit("{");
    const std::string p = operands_.input(op.accesses[0]);
    out_.emit("count_branch(w, mask, " + std::string(negate ? "~" : "") + p + ".bits, " +
              to_string(c.imm) + "); }");
}

}  // namespace cupola::cpu::compiler
