// csrc/cpu/emitter/operands.cpp - the operands and results of an operation as C++ expressions.
#include "cpu/emitter/operands.hpp"

#include <cstdio>

namespace cupola::cpu::compiler {

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

}  // namespace

std::string row_name(const OpEffects& op) {
    const ptx::FormId form = op.origin.form;
    return std::string(rows_name(form.group())) + "::row<" + to_string(form.row()) + ">";
}

std::string row_type(const OpEffects& op) {
    const std::string name = row_name(op);
    char bits[32];
    std::snprintf(bits, sizeof bits, "0x%llxull",
                  static_cast<unsigned long long>(op.origin.key.modifiers));
    const std::string mods =
        "ModsOf<" + name + ", " + to_string(static_cast<unsigned>(op.origin.key.type)) + ", " +
        to_string(static_cast<unsigned>(op.origin.key.type2)) + ", " + bits + ">";
    return name + ", " + (op.any_nan ? "AnyNan<" + mods + ">" : mods);
}

std::string Operands::input(const Access& access) {
    const Register* r = analysis_.at(access.offset);
    if (one_lane_ && r && !r->constant)
        return (access.bytes == 0 ? "predicate(" : "uniform(") + r->name() + ")";
    if (access.bytes == 0) {
        if (!r) return "predicate(0)";
        if (r->constant) return r->value ? "predicate(all_lanes)" : "predicate(0)";
        if (!r->in_file) return "predicate(" + r->name() + ")";
        const std::string t = out_.temporary(0);
        out_.emit(fill(t, 0, access.offset));
        return "predicate(" + t + ")";
    }
    if (!r) return "uniform(" + literal(0, access.bytes) + ")";
    if (r->constant) return "uniform(" + literal(r->value, access.bytes) + ")";
    if (r->uniform) return "uniform(" + r->name() + ")";
    if (is_scalar(r->offset)) {
        const std::string t = out_.temporary(access.bytes);
        out_.emit(t + " = expand_affine(" + scalar_name(*r) + ", 0);");
        return t;
    }
    if (block_batch_ && r->invariant_affine) {
        const std::string t = out_.temporary(access.bytes);
        out_.emit(t + " = expand_affine(l" + to_string(r->offset) + ", from);");
        return t;
    }
    if (!r->in_file) return r->name();
    const std::string t = out_.temporary(access.bytes);
    out_.emit(fill(t, access.bytes, access.offset));
    return t;
}

std::string Operands::output(const Access& access, Output& out) {
    const Register* r = analysis_.at(access.offset);
    if (r && r->single_assignment) {
        out_.emit(fill(*r));
        out.after += spill(*r);
    }
    if (r && !r->in_file) {
        out.masked |= masked(*r, out.guarded);
        return r->name();
    }
    const std::string t = out_.temporary(access.bytes);
    if (!r) return t;
    out_.emit(fill(t, access.bytes, access.offset));
    out.after += spill(t, access.bytes, access.offset);
    out.masked = true;
    return t;
}

std::string Operands::predicate_output(const Access& p, const Access* q, Output& out) {
    std::string names;
    for (const Access* access : {&p, q}) {
        if (!access || access->offset == 0) {
            if (access == &p) names = out_.temporary(0);
            if (access == &p) out_.emit(names + " = 0;");
            continue;
        }
        const Register& r = *analysis_.at(access->offset);
        std::string name = r.name();
        if (r.in_file) {
            name = out_.temporary(0);
            out.masked = true;
        }
        if (r.in_file || r.single_assignment) {
            out_.emit(fill(name, 0, r.offset));
            out.after += spill(name, 0, r.offset);
        }
        out.masked |= masked(r, out.guarded);
        names += (names.empty() ? "" : ", ") + name;
    }
    return names;
}

}  // namespace cupola::cpu::compiler
