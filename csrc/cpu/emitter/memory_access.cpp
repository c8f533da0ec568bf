// csrc/cpu/emitter/memory_access.cpp - emits loads, stores, atomics, votes and barriers.
//
// Each falls back to the instruction's handler where emitted code does not apply.
#include <algorithm>
#include <cstdio>

#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

// Clears a register before an unmasked write. Otherwise the compiler would keep its old value for
// the inactive lanes through the whole function.
void CppEmitter::clear_variable(const Register& r, const OpEffects& op) {
    bool needed = masked(r, op.guarded);
    for (const Access& access : op.accesses) needed |= !access.write && access.offset == r.offset;
    if (!needed) emit(r.name() + " = {};");
}

// Copies an operand of an outlined function, which takes it by address, so the variable itself
// needs no address.
std::string CppEmitter::copy_operand(const Access& access, const std::string& operand) {
    const Register* r = analysis_.at(access.offset);
    if (!access.write && (!r || r->constant || r->uniform)) return operand;
    const std::string t = temporary(access.bytes);
    emit(t + " = " + operand + ";");
    return t;
}

// Ends the statement of a fast path, which begins with a condition: otherwise the handler runs.
void CppEmitter::emit_else_handler(std::uint32_t b, std::uint32_t n) {
    emit("} else {");
    emit_handler_call(b, n);
    emit("}");
}

void CppEmitter::emit_memory(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    const bool load = op.kind == Kind::load;
    const auto group = group_of_.find(n);
    const bool has_affine = group != group_of_.end(),
               checked = path_ != Path::unchecked && has_affine;
    const unsigned bytes = ptx::bytes_of(op.origin.key.type);
    // An outlined access of several elements calls the handler, which only large kernels accept.
    const bool outlined =
        outlines_accesses_ && (split_ || op.accesses.size() == 2) && !checked && has_variables(op);
    emit("{");
    std::string values, after;
    // Inactive lanes of a checked access may be loaded, but not kept or stored.
    const auto keeps_lanes = [&](const Access& access) {
        const Register* r = access.write ? analysis_.at(access.offset) : nullptr;
        return r && (r->in_file || masked(*r, op.guarded));
    };
    const bool some = checked && path_ == Path::checked &&
                      (!load || std::any_of(op.accesses.begin(), op.accesses.end(), keeps_lanes));
    std::string address = checked ? "" : input(op.accesses[0]);
    if (outlined) address = copy_operand(op.accesses[0], address);
    for (std::size_t k = 1; k < op.accesses.size(); ++k) {
        const Access& access = op.accesses[k];
        values += ", ";
        if (!load) {
            const std::string value = input(access);
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
        const std::string t = temporary(access.bytes);
        if (r) {
            emit(fill(t, access.bytes, r->offset));
            after += spill(t, access.bytes, r->offset);
        }
        values += t;
    }
    const std::string what = std::string(load ? "load" : "store");
    if (checked) {
        const AccessGroup& g = groups_[group->second];
        const std::string form = some ? "_affine_masked<" : g.uniform ? "_uniform<" : "_affine<";
        emit(what + form + word_type(bytes) + ", " + to_string(g.step) + ">(" + g.name + ", " +
             to_string(c.imm - g.begin) + (some ? ", mask" : "") + values + ");" + after + "}");
        return;
    }
    const std::string window = window_name(is_shared(op));
    // With inactive lanes the address may still be affine.
    const std::string address_name = has_affine ? groups_[group->second].name : "CheckedAddress{}";
    const std::string step_text = to_string(has_affine ? groups_[group->second].step : 0);
    const std::string base_offset =
        to_string(has_affine ? c.imm - groups_[group->second].begin : 0);
    if (outlined) {
        emit("static constexpr AccessSite site = {" + to_string(c.slot) + ", " + to_string(n) +
             ", " + to_string(c.imm) + ", " + base_offset + operand_offsets(op) + "};");
        emit("next = " + what + "_outlined<" + word_type(bytes) + ", " + window + ", " + step_text +
             ">(w, mask, r, s, site, " + address_name + ", " + address + values + ");" + after);
        emit("if (__builtin_expect(next != code + " + to_string(n + 1) + ", 0)) " +
             jump_to_active(b) + "}");
        return;
    }
    if (has_affine) {
        emit("if (" + address_name + ".holds) {");
        emit(what + "_affine_masked<" + word_type(bytes) + ", " + step_text + ">(" + address_name +
             ", " + base_offset + ", mask" + values + ");" + after);
        emit("} else");
    }
    emit("if (__builtin_expect(" + what + "<" + word_type(bytes) + ", " + window + ">(w, mask, " +
         to_string(c.slot) + ", " + address + ", " + to_string(c.imm) + values + "), 1)) {");
    emit(after);
    emit("} else {");
    emit_handler_call(b, n);
    emit("} }");
}

// Whether all operands of an access are variables or uniform.
bool CppEmitter::has_variables(const OpEffects& op) const {
    for (const Access& access : op.accesses) {
        const Register* r = analysis_.at(access.offset);
        if (r ? r->in_file && !r->constant : access.write) return false;
    }
    return true;
}

// Offsets of the operands in the register file; 0 for those that are there already.
std::string CppEmitter::operand_offsets(const OpEffects& op) const {
    std::string text;
    for (std::size_t k = 0; k < op.accesses.size(); ++k) {
        const Register* r = analysis_.at(op.accesses[k].offset);
        text +=
            (k == 1 ? ", {" : ", ") + to_string(!r || r->constant || r->special ? 0 : r->offset);
    }
    return text + "}";
}

// Runs lane by lane, without the dispatch of the interpreter.
void CppEmitter::emit_atomic(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    const auto& accesses = op.accesses;
    const bool made = accesses.back().write;
    const std::size_t sources = accesses.size() - (made ? 2 : 1);
    const Register* to = made ? analysis_.at(accesses.back().offset) : nullptr;
    if (to && to->in_file && to->is_read) return emit_handler_call(b, n);
    const unsigned bytes = ptx::bytes_of(op.origin.key.type);
    char bits[32];
    std::snprintf(bits, sizeof bits, "0x%llxull",
                  static_cast<unsigned long long>(ptx::field::operation.put(
                      ptx::field::operation.get(op.origin.key.modifiers))));
    const std::string window = window_name(is_shared(op));
    const bool wanted = to && to->is_read;
    const std::string address = input(accesses[0]), first = input(accesses[1]),
                      second = sources == 2 ? input(accesses[2]) : first;
    if (wanted) clear_variable(*to, op);
    const std::string result = wanted ? to->name() : temporary(bytes);
    emit("if (__builtin_expect(!atomic<AtomicAs<" + window + ", Mods<static_cast<Type>(" +
         to_string(static_cast<unsigned>(op.origin.key.type)) + "), Type::none, " + bits + ">, " +
         (wanted ? "true" : "false") + ">, " + window + ">(w, mask, " + to_string(c.slot) + ", " +
         address + ", " + to_string(c.imm) + ", " + first + ", " + second + ", " + result +
         "), 0)) {");
    emit_handler_call(b, n);
    emit("}");
}

// If all lanes are active and take part, none has to be waited for.
void CppEmitter::emit_ballot(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const Register* to = analysis_.at(op.accesses[0].offset);
    const Register* members = analysis_.at(op.accesses[2].offset);
    if (!to || to->in_file || !members || !(members->constant || members->uniform))
        return emit_handler_call(b, n);
    const std::string p = input(op.accesses[1]);
    emit("if (__builtin_expect(mask == all_lanes && " + input(op.accesses[2]) +
         ".value == all_lanes, 1)) {");
    emit("splat<std::uint32_t>(" + p + ".bits, all_lanes, " + to->name() + ");");
    emit_else_handler(b, n);
}

void CppEmitter::emit_shuffle(std::uint32_t b, std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const Register* to = analysis_.at(op.accesses[0].offset);
    const Register* valid = analysis_.at(op.accesses[1].offset);
    const Register* members = analysis_.at(op.accesses[5].offset);
    if (!to || to->in_file || (valid && valid->in_file) || !members) return emit_handler_call(b, n);
    const auto mode = static_cast<unsigned>(
        static_cast<ptx::Mode>(ptx::field::mode.get(op.origin.key.modifiers)));
    std::string sources;
    for (const std::size_t k : {2, 3, 4}) sources += ", " + input(op.accesses[k]);
    emit("if (__builtin_expect(mask == all_lanes && are_members(" + input(op.accesses[5]) +
         "), 1)) {");
    emit("const std::uint32_t valid = shuffle<static_cast<ptx::Mode>(" + to_string(mode) + ")>(" +
         to->name() + sources + "); (void)valid;");
    if (valid) emit(valid->name() + " = valid;");
    emit_else_handler(b, n);
}

// Before an operation that changes or reads the state of other warps, or leaves the function.
std::string CppEmitter::leave_regions() const {
    if (!analysis_.has_barrier_regions) return "";
    return "if (" + regions() + ".active) " + regions() + ".leave(w, s); ";
}

// A whole warp usually arrives at once. That case needs no handler.
void CppEmitter::emit_barrier(std::uint32_t b, std::uint32_t n) {
    if (!analysis_.is_block_barrier(n)) return emit_handler_call(b, n);
    const std::string id = to_string(analysis_.at(analysis_.ops[n].accesses[0].offset)->value);
    emit("if (__builtin_expect(is_whole(w, mask), 1)) {");
    emit("if (!" +
         (analysis_.has_barrier_regions
              ? regions() + ".arrive(w, " + to_string(n) + ", " + id + ", s)"
              : "arrive_whole_warp(w, code + " + to_string(n) + ", " + id + ", s.release)") +
         ") { " + move_live(b + 1, "spill") + "goto next_warp; }");
    emit("} else { " + leave_regions());
    emit_handler_call(b, n);
    emit("}");
}

}  // namespace cupola::cpu::compiler
