// csrc/cpu/emitter/loop_batching.cpp - rounds of a short loop that are alike, with one look for
// all.
//
// Of a loop that is one block, and that moves its addresses on by what is the same in each round,
// the rounds to come are known: where this round's addresses, the next one's and those some rounds
// on may be accessed and lie as far apart as they should, so may all between; and where the lanes
// that are first to leave do not leave then, nobody leaves before.
#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

// What the loop's branch asks, if it is one that is known ahead. -1: it is not.
std::int64_t CppEmitter::question_of(std::uint32_t b) const {
    const Block& block = program_.blocks[b];
    const OpEffects& last = program_.steps[block.end - 1];
    if (!block.head || block.loop_end != b || last.kind != Kind::branch ||
        last.targets[0] != block.first)
        return -1;
    std::int64_t found = -1;
    for (std::uint32_t n = block.first; n + 1 < block.end; ++n) {
        const OpEffects& step = program_.steps[n];
        if (step.flows || step.ends || step.retried || step.entered) return -1;
        for (const Access& access : step.accesses)
            if (access.write && access.offset == last.accesses[0].offset) found = n;
    }
    return found >= 0 && is_ordered(program_.steps[static_cast<std::uint32_t>(found)]) ? found : -1;
}

// By how much a register rises from round to round, "" where that is not known.
std::string CppEmitter::rise_of(std::uint32_t b, std::int32_t offset) {
    const Block& block = program_.blocks[b];
    const OpEffects* writer = nullptr;
    for (std::uint32_t n = block.first; n < block.end; ++n)
        for (const Access& access : program_.steps[n].accesses) {
            if (!access.write || access.offset != offset) continue;
            if (writer) return "";
            writer = &program_.steps[n];
        }
    if (!writer) return "0";
    if (writer->guarded || writer->kind != Kind::lanes ||
        writer->origin.form.form().mnemonic != "add" || writer->accesses.size() != 3 ||
        !ptx::is_integer(writer->origin.key.type) ||
        ptx::field::sat.get(writer->origin.key.modifiers) != 0)
        return "";
    const Access &a = writer->accesses[1], &c = writer->accesses[2];
    const Access& other = a.offset == offset ? c : a;
    const Register* r = program_.at(other.offset);
    if ((a.offset != offset && c.offset != offset) || other.offset == offset) return "";
    return !r || r->constant || r->uniform ? input(other) + ".value" : "";
}

std::string CppEmitter::rounds(std::uint32_t b) const {
    return (parts_ ? "f.rounds" : "rounds") + to_string(b);
}

// The lines of some round to come, and whether all is well in it: a function, and how often.
bool CppEmitter::plan_rounds(std::uint32_t b) {
    const std::int64_t question = asked_.empty() ? -1 : question_of(b);
    if (question < 0 || groups_.empty()) return false;
    // Three rounds tell of those between for sums alone.
    for (const Derived& each : derived_)
        if (each.rise.proof != Proof::linear) return false;
    std::string text;
    for (const Base& base : bases_) {
        const std::string rise = rise_of(b, base.offset);
        if (rise.empty()) return false;
        if (rise != "0")
            text +=
                "const auto " + base.name + " = later(now_" + base.name + ", k, " + rise + ");\n";
    }
    for (const Base& base : bases_) line("const auto now_" + base.name + " = " + base.name + ";");
    const OpEffects& last = program_.steps[program_.blocks[b].end - 1];
    const bool negate =
        (program_.kernel.code[program_.blocks[b].end - 1].flags & interpreter::flag::negate) != 0;
    unsigned count = 0;
    std::string holds = "true";
    const auto look = [&](const std::string& value) {
        text += "x[" + to_string(count++) + "] = " + value + ";\n";
    };
    for (const Derived& each : derived_) text += each.text + "\n";
    for (const std::string& each : checks_) text += each + "\n";
    for (const Group& g : groups_) {
        holds += " & " + g.name + ".holds";
        look(g.name + ".low");
        look(g.name + ".high");
    }
    for (const Derived& each : derived_) {
        if (!each.widens) continue;
        look(each.name + ".low");
        look(each.name + ".high");
    }
    const std::string at = to_string(count);
    count += 4;
    text += "return static_cast<bool>((" + holds + ") & goes_round<" +
            row(program_.steps[static_cast<std::uint32_t>(question)]) + ", " +
            (negate ? "false" : "true") + ">(" + asked_ + ", x + " + at + "));";
    const std::string cost = to_string(program_.kernel.code[program_.blocks[b].end - 1].cost);
    frame_ += "    Rounds<" + to_string(count) + "> rounds" + to_string(b) + ";\n";
    line("auto& by = " + rounds(b) + ".by[w.index];");
    line("if (left != 0) --left;");
    line("else if (ahead && mask == all_lanes && code + " + to_string(last.targets[0]) +
         " < w.limit) {");
    line("left = rounds_ahead<" + to_string(count) +
         ">([=, &w](std::uint64_t k, std::uint64_t* x) { (void)w; (void)k;");
    text_ += text + "\n";
    line("}, ahead, w.budget, " + cost + ", by); }");
    std::string far = "false";
    each_fetched(
        [&](const std::string&, const std::string& n) { far += " || is_far(by[" + n + "])"; });
    line("const bool turns = left >= turn && (" + far + ");");
    line("std::uint32_t more = turns ? turn - 1 : left;");
    line("left -= more;");
    return true;
}

// The groups whose places a round fetches for later ones: names, and numbers in `by`.
void CppEmitter::each_fetched(
    const std::function<void(const std::string&, const std::string&)>& use) {
    for (std::size_t n = 0; n < groups_.size(); ++n)
        if (!groups_[n].shared && groups_[n].step != 0) use(groups_[n].name, to_string(2 * n));
}

// Around the statements of a round.
void CppEmitter::begin_rounds() {
    for (std::size_t n = 0; n < 2 * groups_.size(); ++n)
        line("const std::uint64_t by" + to_string(n) + " = by[" + to_string(n) + "];");
    each_fetched([&](const std::string&, const std::string& n) {
        line("const std::uint64_t way" + n + " = (turns ? ahead_in_turn : ahead_alone) * by" + n +
             ";");
    });
    line("for (;; --more) {");
}
void CppEmitter::end_rounds() {
    line("if (more == 0) break;");
    unsigned n = 0;
    for (const Group& g : groups_) {
        line(g.name + ".low += by" + to_string(n) + "; " + g.name + ".high += by" +
             to_string(n + 1) + ";");
        n += 2;
    }
    each_fetched([&](const std::string& name, const std::string& n) {
        line("fetch(" + name + ", way" + n + ");");
    });
    line("}");
}

// Whether warps may stop at the head of some loop, with nothing of theirs in variables.
bool CppEmitter::passes() const {
    if (parts_) return false;
    for (std::uint32_t b = 0; b < program_.blocks.size(); ++b)
        if (program_.blocks[b].entry && question_of(b) >= 0) return true;
    return false;
}

// Back to the head of loop b, unless that is where the next warp's turn begins.
std::string CppEmitter::next_round(std::uint32_t b) const {
    const std::string number = to_string(b);
    std::string pass;
    if (program_.blocks[b].entry && !parts_)
        pass = "if (left != 0) if (Warp* const onto = following(each, s, at)) { " +
               alive(b, "spill") + rounds(b) +
               ".keep(w, left, ahead); pass(w, next); each = onto; continue; } ";
    return "{ " + pass + "goto R" + number + "; }";
}

}  // namespace cupola::cpu::compiler
