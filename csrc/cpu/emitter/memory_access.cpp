// csrc/cpu/emitter/memory_access.cpp - loads, stores, atomics, votes and barriers as statements of
// C++, each with the handler's way for what printed code does not do.
#include <cstdio>

#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

// What is not masked need not be kept for its other lanes: a compiler would keep it through all of
// the function.
void CppEmitter::begin_anew(const Register& r, const OpEffects& step) {
    bool needed = masked(r, step.guarded);
    for (const Access& access : step.accesses) needed |= !access.write && access.offset == r.offset;
    if (!needed) line(r.name() + " = {};");
}

// For what is called, which has its operands in memory: the variable itself need not be there.
std::string CppEmitter::copy(const Access& access, const std::string& operand) {
    const Register* r = program_.at(access.offset);
    if (!access.write && (!r || r->constant || r->uniform)) return operand;
    const std::string t = temporary(access.bytes);
    line(t + " = " + operand + ";");
    return t;
}

void CppEmitter::memory(std::uint32_t b, std::uint32_t n) {
    const OpEffects& step = program_.steps[n];
    const DecodedOp& c = program_.kernel.code[n];
    const bool load = step.kind == Kind::load;
    const auto group = group_of_.find(n);
    const bool lined = group != group_of_.end(), near = full_ && lined;
    const unsigned bytes = ptx::bytes_of(step.origin.key.type);
    const bool apart = parts_ && !near && is_held(step);
    line("{");
    std::string values, after;
    std::string address = near ? "" : input(step.accesses[0]);
    if (apart) address = copy(step.accesses[0], address);
    for (std::size_t k = 1; k < step.accesses.size(); ++k) {
        const Access& access = step.accesses[k];
        values += ", ";
        if (!load) {
            const std::string value = input(access);
            values += apart ? copy(access, value) : value;
            continue;
        }
        const Register* r = program_.at(access.offset);
        if (r && !r->file) {
            if (!near) begin_anew(*r, step);
            const std::string value = apart ? copy(access, r->name()) : r->name();
            values += value;
            if (apart) after += r->name() + " = " + value + ";";
            continue;
        }
        const std::string t = temporary(access.bytes);
        if (r) {
            line(fill(t, access.bytes, r->offset));
            after += spill(t, access.bytes, r->offset);
        }
        values += t;
    }
    const std::string what = std::string(load ? "load" : "store");
    if (near) {
        const Group& g = groups_[group->second];
        line(what + (g.uniform ? "_same<" : "_near<") + word_type(bytes) + ", " +
             to_string(g.step) + ">(" + g.name + ", " + to_string(c.imm - g.begin) + values + ");" +
             after + "}");
        return;
    }
    const auto space = static_cast<ptx::Space>(ptx::field::space.get(step.origin.key.modifiers));
    const std::string window = space == ptx::Space::shared ? "Window::shared" : "Window::flat";
    // Where lanes are away, the line may be there all the same.
    const std::string looked = lined ? groups_[group->second].name : "Near{}";
    const std::string rise = to_string(lined ? groups_[group->second].step : 0);
    const std::string from = to_string(lined ? c.imm - groups_[group->second].begin : 0);
    if (apart) {
        line("static constexpr Place place = {" + to_string(c.slot) + ", " + to_string(n) + ", " +
             to_string(c.imm) + ", " + from + places_of(step) + "};");
        line("next = " + what + "_apart<" + word_type(bytes) + ", " + window + ", " + rise +
             ">(w, mask, r, s, place, " + looked + ", " + address + values + ");" + after);
        line("if (__builtin_expect(next != code + " + to_string(n + 1) + ", 0)) " + leaving(b) +
             "}");
        return;
    }
    if (lined) {
        line("if (" + looked + ".holds) {");
        line(what + "_some<" + word_type(bytes) + ", " + rise + ">(" + looked + ", " + from +
             ", mask" + values + ");" + after);
        line("} else");
    }
    line("if (__builtin_expect(" + what + "<" + word_type(bytes) + ", " + window + ">(w, mask, " +
         to_string(c.slot) + ", " + address + ", " + to_string(c.imm) + values + "), 1)) {");
    line(after);
    line("} else {");
    handler(b, n);
    line("} }");
}

// Whether all that an access reads and writes is in variables, or has one value for ever.
bool CppEmitter::is_held(const OpEffects& step) const {
    for (const Access& access : step.accesses) {
        const Register* r = program_.at(access.offset);
        if (r ? r->file && !r->constant : access.write) return false;
    }
    return true;
}

// Where these lie in the register file; 0 where it has them already.
std::string CppEmitter::places_of(const OpEffects& step) const {
    std::string text;
    for (std::size_t k = 0; k < step.accesses.size(); ++k) {
        const Register* r = program_.at(step.accesses[k].offset);
        text +=
            (k == 1 ? ", {" : ", ") + to_string(!r || r->constant || r->special ? 0 : r->offset);
    }
    return text + "}";
}

// Lane after lane, without the interpreter's way there.
void CppEmitter::atomic(std::uint32_t b, std::uint32_t n) {
    const OpEffects& step = program_.steps[n];
    const DecodedOp& c = program_.kernel.code[n];
    const auto& accesses = step.accesses;
    const bool made = accesses.back().write;
    const std::size_t sources = accesses.size() - (made ? 2 : 1);
    const Register* to = made ? program_.at(accesses.back().offset) : nullptr;
    if (to && to->file && to->read) return handler(b, n);
    const auto space = static_cast<ptx::Space>(ptx::field::space.get(step.origin.key.modifiers));
    const unsigned bytes = ptx::bytes_of(step.origin.key.type);
    char bits[32];
    std::snprintf(bits, sizeof bits, "0x%llxull",
                  static_cast<unsigned long long>(ptx::field::operation.put(
                      ptx::field::operation.get(step.origin.key.modifiers))));
    const std::string window = space == ptx::Space::shared ? "Window::shared" : "Window::flat";
    const bool wanted = to && to->read;
    const std::string address = input(accesses[0]), first = input(accesses[1]),
                      second = sources == 2 ? input(accesses[2]) : first;
    if (wanted) begin_anew(*to, step);
    const std::string result = wanted ? to->name() : temporary(bytes);
    line("if (__builtin_expect(!atomic<AtomicAs<" + window + ", Mods<static_cast<Type>(" +
         to_string(static_cast<unsigned>(step.origin.key.type)) + "), Type::none, " + bits + ">, " +
         (wanted ? "true" : "false") + ">, " + window + ">(w, mask, " + to_string(c.slot) + ", " +
         address + ", " + to_string(c.imm) + ", " + first + ", " + second + ", " + result +
         "), 0)) {");
    handler(b, n);
    line("}");
}

// Where all lanes are here and take part, there is nobody to wait for.
void CppEmitter::ballot(std::uint32_t b, std::uint32_t n) {
    const OpEffects& step = program_.steps[n];
    const Register* to = program_.at(step.accesses[0].offset);
    const Register* members = program_.at(step.accesses[2].offset);
    if (!to || to->file || !members || !(members->constant || members->uniform))
        return handler(b, n);
    const std::string p = input(step.accesses[1]);
    line("if (__builtin_expect(mask == all_lanes && " + input(step.accesses[2]) +
         ".value == all_lanes, 1)) {");
    line("set_same<std::uint32_t>(" + p + ".bits, all_lanes, " + to->name() + ");");
    line("} else {");
    handler(b, n);
    line("}");
}

void CppEmitter::shuffle(std::uint32_t b, std::uint32_t n) {
    const OpEffects& step = program_.steps[n];
    const Register* to = program_.at(step.accesses[0].offset);
    const Register* valid = program_.at(step.accesses[1].offset);
    const Register* members = program_.at(step.accesses[5].offset);
    if (!to || to->file || (valid && valid->file) || !members ||
        !(members->constant || members->uniform))
        return handler(b, n);
    const auto mode = static_cast<unsigned>(
        static_cast<ptx::Mode>(ptx::field::mode.get(step.origin.key.modifiers)));
    std::string sources;
    for (const std::size_t k : {2, 3, 4}) sources += ", " + input(step.accesses[k]);
    line("if (__builtin_expect(mask == all_lanes && " + input(step.accesses[5]) +
         ".value == all_lanes, 1)) {");
    line("const std::uint32_t valid = shuffle<static_cast<ptx::Mode>(" + to_string(mode) + ")>(" +
         to->name() + sources + "); (void)valid;");
    if (valid) line(valid->name() + " = valid;");
    line("} else {");
    handler(b, n);
    line("}");
}

// Where whole warps come, as they nearly always do, it is done here.
void CppEmitter::barrier(std::uint32_t b, std::uint32_t n) {
    const OpEffects& step = program_.steps[n];
    const Register* id = program_.at(step.accesses[0].offset);
    const Register* count = program_.at(step.accesses[1].offset);
    const bool known = id && id->constant && id->value < 16 && count && count->constant &&
                       count->value == 0 && b + 1 < program_.blocks.size();
    if (!known || guarded(step)) return handler(b, n);
    line("if (__builtin_expect(is_whole(w, mask), 1)) {");
    line("if (!meet(w, code + " + to_string(n) + ", " + to_string(id->value) + ", s.release)) { " +
         alive(b + 1, "spill") + "goto turned; }");
    line("} else {");
    handler(b, n);
    line("}");
}

}  // namespace cupola::cpu::compiler
