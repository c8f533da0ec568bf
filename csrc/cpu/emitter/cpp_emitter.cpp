// csrc/cpu/emitter/cpp_emitter.cpp - the frame of a printed kernel, and how lanes go from block to
// block.
//
// As the interpreter does, lanes at the lowest place run first. As long as nobody waits at a lower
// place than where the running lanes go, that is one comparison; else the interpreter's own
// functions say who runs, and control goes forward past the blocks until it is there.
#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

// Each entry fetches what is alive there: in hostile code, that is all of it everywhere.
void CppEmitter::check_size() const {
    if (source_.size() + text_.size() > std::size_t{16} << 20)
        throw Unprintable{"its source is too long"};
}

std::string in_namespace(const std::string& text) {
    return "namespace cupola::cpu::CUPOLA_ISA {\n" + text + "}  // namespace\n";
}

std::string name_of_kernel(std::size_t n) { return "cupola_kernel_" + to_string(n); }

// The innermost loop that block b is in, or is the head of, as far as what is printed has it as a
// whole; -1 where there is none.
std::int32_t CppEmitter::loop_at(std::uint32_t b) const {
    const std::int32_t head = program_.blocks[b].loop;
    return head >= 0 && is_head(static_cast<std::uint32_t>(head)) ? head : -1;
}

// The same, but of a loop's head the loop around that.
std::int32_t CppEmitter::loop_around(std::uint32_t b) const {
    if (!is_head(b)) return loop_at(b);
    for (std::uint32_t head = b; head-- > part_.first;)
        if (is_head(head) && end_of_loop(head) >= end_of_loop(b))
            return static_cast<std::int32_t>(head);
    return -1;
}

// Where control goes on behind block `last`, inside of a loop; in a part, its ways are for all that
// are in none.
std::string CppEmitter::behind(std::uint32_t last, std::int32_t loop) const {
    if (loop < 0 && parts_) return "dispatch";
    const std::uint32_t end = loop < 0 ? part_.last : end_of_loop(loop);
    if (last < end) return "S" + to_string(last + 1);
    return loop < 0 ? "dispatch" : "E" + to_string(loop);
}

// Past block b, and past the loop whose head it is.
std::string CppEmitter::beyond(std::uint32_t b) const {
    return behind(is_head(b) ? end_of_loop(b) : b, loop_around(b));
}

// Whether a warp that waits behind block b may leave at once.
bool CppEmitter::may_turn(std::uint32_t b) const {
    return program_.steps[program_.blocks[b].end - 1].entered && b + 1 < program_.blocks.size();
}

// The places behind block b where running lanes are others now, or stand elsewhere. In a part,
// blocks in no loop have them in common.
std::string CppEmitter::place(const char* label, std::uint32_t b) const {
    return label + (parts_ && loop_at(b) < 0 && !may_turn(b) ? "" : to_string(b));
}

void CppEmitter::away(std::uint32_t b) {
    const bool met = went_ || left_;
    if (met && place("O", b) != "O") {
        line(place("O", b) + ": next = onward(w, next, s);");
        line(place("A", b) + ":");
        if (may_turn(b))
            line(
                "if (w.status == Status::blocked && w.ready_count == 0 && w.waiting_count == 1) "
                "{ " +
                alive(b + 1, "spill") + "goto turned; }");
        elsewhere(behind(b, loop_at(b)));
    }
    went_ = left_ = false;
}

void CppEmitter::elsewhere(const std::string& label) {
    line("if (!next || next == s.halt) goto halted;");
    line("at = static_cast<std::uint32_t>(next - code); goto " + label + ";");
}

std::string CppEmitter::leaving(std::uint32_t b) {
    left_ = true;
    return "goto " + place("A", b) + ";";
}

// All running lanes go from block b to the DecodedOp `to`.
void CppEmitter::go(std::uint32_t b, std::uint32_t to, bool charged, std::uint32_t n) {
    const std::uint32_t target = program_.block_at(to);
    const bool back = target <= b;
    const std::uint16_t cost = charged ? program_.kernel.code[n].cost : 0;
    line("next = code + " + to_string(to) + ";");
    if (cost != 0) line("w.budget -= " + to_string(cost) + ";");
    std::string way = "goto T" + to_string(target) + ";";
    if (!part_.has(target))
        way = "goto gone;";
    else if (back && !is_head(target))
        way = "{ at = " + to_string(to) + "; goto dispatch; }";
    else if (target == b && alike_)
        way = next_round(b);
    line("if (__builtin_expect(next < w.limit" + std::string(cost ? " && w.budget >= 0" : "") +
         ", 1)) " + way);
    line("goto " + place("O", b) + ";");
    went_ = true;
}

// Whether a branch leads around the next block, which others cannot come to on the way and which
// nobody waits in.
bool CppEmitter::is_short(std::uint32_t b, std::uint32_t to) const {
    constexpr std::uint32_t max_codes = 12;
    const auto& blocks = program_.blocks;
    if (b + 1 > part_.last || b + 2 >= blocks.size() || blocks[b + 2].first != to) return false;
    const Block& next = blocks[b + 1];
    if (next.end - next.first > max_codes || next.entry || next.head) return false;
    for (std::uint32_t n = next.first; n < next.end; ++n) {
        const OpEffects& step = program_.steps[n];
        if (step.flows || step.ends || step.retried || step.kind == Kind::branch) return false;
    }
    return true;
}

// Lanes that do not take a short branch run what it leads around while the others wait, without
// parting.
void CppEmitter::around(std::uint32_t b, std::uint32_t to) {
    const Block& next = program_.blocks[b + 1];
    line("if (code + " + to_string(next.first) + " < w.limit) {");
    line("const std::uint32_t outer = mask; mask &= ~taken; {");
    partly_ = true;
    for (std::uint32_t n = next.first; n < next.end; ++n) statement(b, n);
    partly_ = false;
    line("} mask = outer;");
    go(b, to, false, program_.blocks[b].end - 1);
    line("}");
}

void CppEmitter::transfer(std::uint32_t b, std::uint32_t n) {
    const OpEffects& step = program_.steps[n];
    const DecodedOp& c = program_.kernel.code[n];
    if (step.kind == Kind::jump) return go(b, step.targets[0], c.target <= 0, n);
    if (step.kind == Kind::branch) {
        const std::string p = input(step.accesses[0]);
        const bool negate = (c.flags & interpreter::flag::negate) != 0;
        const std::uint32_t to = step.targets[0];
        line("const std::uint32_t taken = mask & " + std::string(negate ? "~" : "") + p + ".bits;");
        line("if (taken == 0) {");
        go(b, n + 1, false, n);
        line("}");
        const Register* r = program_.at(step.accesses[0].offset);
        if (!r || r->uniform) return go(b, to, c.target <= 0, n);  // no lanes part
        line("if (taken != mask) {");
        if (is_short(b, to)) around(b, to);
        line("next = parted(w, taken, code + " + to_string(to) + ", code + " + to_string(n + 1) +
             ", " + to_string(c.target <= 0 ? c.cost : 0) + ", s);");
        const std::uint32_t target = program_.block_at(to);
        if (target <= b && is_head(target))
            line("if (next == code + " + to_string(to) + ") goto T" + to_string(target) + ";");
        line(leaving(b) + " }");
        go(b, to, c.target <= 0, n);
        return;
    }
    if (step.ends) return;  // its handler has said where to
    // Handlers go on behind themselves whoever waits, but perhaps with fewer lanes: only branches
    // and joins look.
    if (step.kind == Kind::join)
        go(b, n + 1, false, n);
    else if (b == part_.last)
        line("{ next = code + " + to_string(n + 1) + "; goto gone; }");
    else
        line((step.flows ? "goto T" : "goto L") + to_string(b + 1) + ";");
}

// What block b does, and where lanes go on.
void CppEmitter::body(std::uint32_t b) {
    const std::string number = to_string(b);
    const std::size_t label = text_.size();
    line("L" + number + ": {");
    plan(b);
    alike_ = plan_rounds(b);
    // Another round, or the first one.
    const std::string round =
        alike_ ? " " + rounds(b) + ".take(w, left, ahead); R" + number + ":" : "";
    text_.insert(label, "    T" + number + ":" + round + " mask = w.mask;\n");
    if (!groups_.empty()) {
        std::string holds = "mask == all_lanes";
        for (const Group& group : groups_) holds += " && " + group.name + ".holds";
        line("if (__builtin_expect(" + holds + ", 1)) {");
        full_ = true;
        if (alike_) begin_rounds();
        statements(b);
        if (alike_) end_rounds();
        full_ = false;
        line("} else {");
    }
    statements(b);
    if (!groups_.empty()) line("}");
    transfer(b, program_.blocks[b].end - 1);
    line("}");
    away(b);
}

void CppEmitter::block(std::uint32_t b) {
    const Block& block = program_.blocks[b];
    if (!parts_ || loop_around(b) >= 0)
        line("S" + to_string(b) + ": if (at != " + to_string(block.first) + ") goto " + beyond(b) +
             ";");
    body(b);
    // Behind a loop's last block: back to its head, or on.
    for (std::uint32_t head = b + 1; head-- > part_.first;)
        if (is_head(head) && program_.blocks[head].loop_end == b)
            line("E" + to_string(head) + ": if (at == " + to_string(program_.blocks[head].first) +
                 ") goto T" + to_string(head) + "; goto " + beyond(head) + ";");
}

// All entries come by here, also those whose place a compiler knows: by another way in, loops would
// be none to it.
void CppEmitter::ways(const std::set<std::uint32_t>& entries) {
    line("dispatch: __asm__ volatile(\"\" : \"+r\"(at)); switch (at) {");
    for (const std::uint32_t b : entries)
        line("case " + to_string(program_.blocks[b].first) + ": goto T" + to_string(b) + ";");
    line("default: goto leave; }");
}

void CppEmitter::begin() {
    text_ = "extern \"C\" __attribute__((visibility(\"default\"))) const DecodedOp* " + name_ +
            "(const DecodedOp* ip, Warp& w, std::byte* r, const RuntimeCallbacks& s) {\n";
    if (!program_.sweep.empty()) sweep();
}

// The function at hand is whole.
void CppEmitter::end() {
    source_.functions.push_back(in_namespace(text_));
    text_.clear();
}

void CppEmitter::in_one() {
    begin();
    line("const DecodedOp* const code = s.code; const DecodedOp* next;");
    line("auto at = static_cast<std::uint32_t>(ip - code);");
    constants(is_of_block);
    line("bool ahead = false; std::uint32_t left = 0; (void)ahead; (void)left;");
    const std::size_t frame = text_.size();
    line("std::uint64_t before[" + accesses() + "] = {};");
    line("for (Warp* each = &w;;) {");
    line("Warp& w = *each; std::byte* const r = w.registers; std::uint32_t mask = w.mask;");
    variables();
    declare_uniform(is_of_warp);  // for as long as the warp lives
    hold_lines();
    enter();
    std::set<std::uint32_t> entries;
    for (std::uint32_t b = 0; b < program_.blocks.size(); ++b)
        if (program_.blocks[b].entry) entries.insert(b);
    ways(entries);
    for (std::uint32_t b = 0; b < program_.blocks.size(); ++b) {
        check_size();
        block(b);
    }
    leave();
    text_ += "    }\n}\n";
    text_.insert(frame, frame_);
    end();
}

Source CppEmitter::print() {
    part_ = {0, static_cast<std::uint32_t>(program_.blocks.size() - 1)};
    if (program_.is_large())
        in_parts();
    else
        in_one();
    return std::move(source_);
}

// How many places there are, where accesses in loops were.
std::string CppEmitter::accesses() const {
    std::uint32_t count = 1;
    for (const OpEffects& step : program_.steps)
        count += step.kind == Kind::load || step.kind == Kind::store ? 1 : 0;
    return to_string(count);
}

Source source_of(const KernelAnalysis& program, std::size_t n) {
    return CppEmitter(program, name_of_kernel(n)).print();
}

}  // namespace cupola::cpu::compiler
