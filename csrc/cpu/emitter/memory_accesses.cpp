// csrc/cpu/emitter/memory_accesses.cpp - loads, stores and atomics as C++ statements.
//
// Each falls back to the instruction's handler where emitted code does not apply.
#include "cpu/emitter/memory_accesses.hpp"

#include <algorithm>
#include <cstdio>

namespace cupola::cpu::compiler {

using std::to_string;

// Clears a register before an unmasked write. Otherwise the compiler would keep its old value for
// the inactive lanes through the whole function.
void MemoryAccesses::clear_variable(const Register& r, const OpEffects& op) {
    bool needed = operands_.masked(r, op.guarded);
    for (const Access& access : op.accesses) needed |= !access.write && access.offset == r.offset;
    if (!needed) out_.emit(r.name() + " = {};");
}

// Copies an operand of an outlined function, which takes it by address, so the variable itself
// needs no address.
std::string MemoryAccesses::copy_operand(const Access& access, const std::string& operand) {
    const Register* r = analysis_.at(access.offset);
    if (!access.write && (!r || r->constant || r->uniform)) return operand;
    const std::string t = out_.temporary(access.bytes);
    out_.emit(t + " = " + operand + ";");
    return t;
}

void MemoryAccesses::emit_access(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    const bool load = op.kind == Kind::load;
    const AccessGroup* const group = addresses_.group_of(n);
    const bool has_affine = group != nullptr,
               checked = operands_.path() != Path::unchecked && has_affine;
    const unsigned bytes = ptx::bytes_of(op.origin.key.type);
    // An outlined access of several elements calls the handler. Only large kernels accept the cost
    // of that call.
    const bool outlined =
        outlines_ && (part_.is_split() || op.accesses.size() == 2) && !checked && has_variables(op);
    out_.emit("{");
    std::string values, after;
    // Inactive lanes of a checked access may be loaded, but not kept or stored.
    const auto keeps_lanes = [&](const Access& access) {
        const Register* r = access.write ? analysis_.at(access.offset) : nullptr;
        return r && (r->in_file || operands_.masked(*r, op.guarded));
    };
    const bool some = checked && operands_.path() == Path::checked &&
                      (!load || std::any_of(op.accesses.begin(), op.accesses.end(), keeps_lanes));
    std::string address = checked ? "" : operands_.input(op.accesses[0]);
    if (outlined) address = copy_operand(op.accesses[0], address);
    for (std::size_t k = 1; k < op.accesses.size(); ++k) {
        const Access& access = op.accesses[k];
        values += ", ";
        if (!load) {
            const std::string value = operands_.input(access);
            values += outlined ? copy_operand(access, value) : value;
            continue;
        }
        const Register* r = analysis_.at(access.offset);
        if (r && !r->in_file) {
            if (!checked || some) clear_variable(*r, op);
            const std::string value = outlined ? copy_operand(access, r->name()) : r->name();
            values += value;
            if (outlined) after += r->name() + " = " + value + ";";
            continue;
        }
        const std::string t = out_.temporary(access.bytes);
        if (r) {
            out_.emit(fill(t, access.bytes, r->offset));
            after += spill(t, access.bytes, r->offset);
        }
        values += t;
    }
    const std::string what = std::string(load ? "load" : "store");
    if (checked) {
        const AccessGroup& g = *group;
        const bool first = operands_.has_first_lanes() && g.step != 0;
        const std::string form = some        ? "_affine_masked<"
                                 : g.uniform ? "_uniform<"
                                 : first     ? "_first<"
                                             : "_affine<";
        out_.emit(what + form + word_type(bytes) + ", " + to_string(g.step) + ">(" + g.name + ", " +
                  to_string(c.imm - g.begin) +
                  (some    ? ", mask"
                   : first ? ", count"
                           : "") +
                  values + ");" + after + "}");
        return;
    }
    const std::string window = window_name(is_shared(op));
    // With inactive lanes the address may still be affine.
    const std::string address_name = has_affine ? group->name : "CheckedAddress{}";
    const std::string step_text = to_string(has_affine ? group->step : 0);
    const std::string base_offset = to_string(has_affine ? c.imm - group->begin : 0);
    if (outlined) {
        out_.emit("static constexpr AccessSite site = {" + to_string(c.slot) + ", " + to_string(n) +
                  ", " + to_string(c.imm) + ", " + base_offset + operand_offsets(op) + "};");
        out_.emit("next = " + what + "_outlined<" + word_type(bytes) + ", " + window + ", " +
                  step_text + ">(w, mask, r, s, site, " + address_name + ", " + address + values +
                  ");" + after);
        out_.emit("if (__builtin_expect(next != code + " + to_string(n + 1) + ", 0)) " +
                  flow_.jump_to_active(b) + "}");
        return;
    }
    if (has_affine) {
        out_.emit("if (" + address_name + ".holds) {");
        out_.emit(what + "_affine_masked<" + word_type(bytes) + ", " + step_text + ">(" +
                  address_name + ", " + base_offset + ", mask" + values + ");" + after);
        out_.emit("} else");
    }
    out_.emit("if (__builtin_expect(" + what + "<" + word_type(bytes) + ", " + window +
              ">(w, mask, " + to_string(c.slot) + ", " + address + ", " + to_string(c.imm) +
              values + "), 1)) {");
    out_.emit(after);
    out_.emit("} else {");
    handlers_.emit(b, n);
    out_.emit("} }");
}

// Whether all operands of an access are variables or uniform.
bool MemoryAccesses::has_variables(const OpEffects& op) const {
    for (const Access& access : op.accesses) {
        const Register* r = analysis_.at(access.offset);
        if (r ? r->in_file && !r->constant : access.write) return false;
    }
    return true;
}

// Offsets of the operands in the register file; 0 for those that are there already.
std::string MemoryAccesses::operand_offsets(const OpEffects& op) const {
    std::string text;
    for (std::size_t k = 0; k < op.accesses.size(); ++k) {
        const Register* r = analysis_.at(op.accesses[k].offset);
        text +=
            (k == 1 ? ", {" : ", ") + to_string(!r || r->constant || r->special ? 0 : r->offset);
    }
    return text + "}";
}

std::string MemoryAccesses::observers() const {
    std::string text;
    for (const std::uint32_t slot : analysis_.observing_slots)
        text += (text.empty() ? "" : ", ") + to_string(slot);
    return "Observers<" + text + ">";
}

std::string MemoryAccesses::atomic_type(const OpEffects& op, bool returns) const {
    char bits[32];
    std::snprintf(bits, sizeof bits, "0x%llxull",
                  static_cast<unsigned long long>(ptx::field::operation.put(
                      ptx::field::operation.get(op.origin.key.modifiers))));
    return std::string("AtomicAs<") + window_name(is_shared(op)) + ", Mods<static_cast<Type>(" +
           to_string(static_cast<unsigned>(op.origin.key.type)) + "), Type::none, " + bits + ">, " +
           (returns ? "true" : "false") + ">";
}

std::string MemoryAccesses::deferred_atomic(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    return "deferred_atomic<" + atomic_type(op, false) + ", " + observers() + ">(w, mask, " +
           to_string(c.slot) + ", " + operands_.input(op.accesses[0]) + ", " + to_string(c.imm) +
           ", " + operands_.input(op.accesses[1]) + ")";
}

// Runs lane by lane, without the dispatch of the interpreter.
void MemoryAccesses::emit_atomic(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    const auto& accesses = op.accesses;
    const bool made = accesses.back().write;
    const std::size_t sources = accesses.size() - (made ? 2 : 1);
    const Register* to = made ? analysis_.at(accesses.back().offset) : nullptr;
    if (to && to->in_file && to->is_read) return handlers_.emit(b, n);
    std::string call;
    if (op.deferred) {
        call = deferred_atomic(n);
    } else {
        const bool wanted = to && to->is_read;
        const std::string address = operands_.input(accesses[0]),
                          first = operands_.input(accesses[1]),
                          second = sources == 2 ? operands_.input(accesses[2]) : first;
        if (wanted) clear_variable(*to, op);
        const std::string result =
            wanted ? to->name() : out_.temporary(ptx::bytes_of(op.origin.key.type));
        call = "atomic<" + atomic_type(op, wanted) + ", " + window_name(is_shared(op)) +
               ">(w, mask, " + to_string(c.slot) + ", " + address + ", " + to_string(c.imm) + ", " +
               first + ", " + second + ", " + result + ")";
    }
    out_.emit("if (__builtin_expect(!" + call + ", 0)) {");
    handlers_.emit(b, n);
    out_.emit("}");
}

}  // namespace cupola::cpu::compiler
