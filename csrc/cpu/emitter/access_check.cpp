// csrc/cpu/emitter/access_check.cpp - what a block computes before its first instruction: lines of
// addresses, and whether all that is accessed along them may be.
#include <algorithm>

#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {

const char* name_of(Proof proof) {
    switch (proof) {
        case Proof::linear:
            return "linear";
        case Proof::ends:
            return "ends";
        case Proof::low_bits:
            return "low_bits";
        case Proof::uniform:
            break;
    }
    return "uniform";
}

}  // namespace

// The line of an operand as an expression, "" where it has none.
std::string CppEmitter::line_of(const Access& access, std::int64_t& step) {
    const Register* r = program_.at(access.offset);
    step = 0;
    if (!r || r->constant || r->uniform) return input(access);
    step = r->step;
    if (r->invariant_affine) return "l" + to_string(r->offset);
    const auto found = lines_.find(r->offset);
    if (found != lines_.end()) {
        step = found->second.step;
        return found->second.name;
    }
    if (!r->is_affine || written_.count(r->offset) != 0) return "";
    const std::string name = "l" + to_string(r->offset) + "_" + to_string(temporaries_++);
    const std::string text = "const auto " + name + " = line_of<" + to_string(step) + ">(";
    bases_.push_back({name, r->offset, text + r->name() + ");"});
    lines_[r->offset] = {name, step};
    return name;
}

// Lines that never change, as far as a block's addresses need them: first of the indices of
// threads, then of what is computed from them. Each block has its own, since a warp that waits is
// entered again behind that, and most blocks need few; around a loop a compiler keeps them.
void CppEmitter::invariant_affine_lines(std::uint32_t b) {
    const Block& block = program_.blocks[b];
    std::set<std::int32_t> needed;
    const auto need = [&](std::uint32_t n) {
        for (const Access& access : program_.steps[n].accesses) {
            const Register* r = access.write ? nullptr : program_.at(access.offset);
            if (r && r->invariant_affine) needed.insert(r->offset);
        }
    };
    for (std::uint32_t n = block.first; n < block.end; ++n) {
        need(n);
        if (const Register* r = program_.quotient_of(n); r && r->invariant_affine) {
            needed.insert(r->offset);
            line_at_[n] = "l" + to_string(r->offset);
        }
    }
    invariant_affine_lines(needed);
}

// The lines of quotients take divisions, so that they are made once, when the warp goes on.
void CppEmitter::hold_lines() {
    std::set<std::int32_t> needed;
    for (std::uint32_t n = 0; n < program_.steps.size(); ++n)
        if (const Register* r = program_.quotient_of(n); r && r->invariant_affine)
            needed.insert(r->offset);
    invariant_affine_lines(needed);
    held_ = std::move(needed);
}

// Those of these registers, and of what they are computed from.
void CppEmitter::invariant_affine_lines(std::set<std::int32_t>& needed) {
    for (auto each = program_.invariant_affine.rbegin(); each != program_.invariant_affine.rend();
         ++each) {
        const Register& r = program_.registers[*each];
        if (needed.count(r.offset) == 0 || held_.count(r.offset) != 0) continue;
        for (const Access& access : program_.steps[r.definition].accesses) {
            const Register* from = access.write ? nullptr : program_.at(access.offset);
            if (from && from->invariant_affine) needed.insert(from->offset);
        }
    }
    for (const Register& r : program_.registers) {
        if (!r.special || needed.count(r.offset) == 0 || held_.count(r.offset) != 0) continue;
        const std::string begin = "const auto l" + to_string(r.offset) + " = ";
        const std::string step = "<" + to_string(r.step) + ">(";
        if (r.thread >= 0 && r.bytes == 4) {
            line(begin + "thread_line" + step + "w.thread[" + to_string(r.thread) + "]);");
            continue;
        }
        const std::string t = temporary(r.bytes);
        line(fill(t, r.bytes, r.offset));
        line(begin + "line_of" + step + t + ");");
    }
    for (const std::uint32_t n : program_.invariant_affine) {
        const Register& r = program_.registers[n];
        if (needed.count(r.offset) != 0 && held_.count(r.offset) == 0)
            line(derived(r.definition, "l" + to_string(r.offset)).text);
    }
}

// A variable for the line of an instruction's result; without a text where there is none.
CppEmitter::Derived CppEmitter::derived(std::uint32_t n, const std::string& name) {
    const OpEffects& s = program_.steps[n];
    std::vector<std::int64_t> steps;
    std::string text;
    std::int64_t step = 0;
    unsigned read = 0, written = 0;
    for (const Access& access : s.accesses) {
        if (access.write) {
            written = access.bytes;
            continue;
        }
        const std::string operand = line_of(access, step);
        if (operand.empty()) return {};
        text += (text.empty() ? "" : ", ") + operand;
        steps.push_back(step);
        read = read == 0 || access.bytes < read ? access.bytes : read;
    }
    Rise rise;
    if (!program_.rise_of_lanes(n, steps, rise)) return {};
    const std::string made = row(s) + ", " + word_type(written) + ", " + to_string(rise.step);
    const bool widens = written > read;
    const std::string proof = std::string(", Proof::") + name_of(rise.proof) + ">(";
    const std::string call = sweeping_ ? "stretch<" + made + proof + "threads, "
                                       : "line<" + made + (widens ? ", true" : ", false") + proof;
    return {name, "const auto " + name + " = " + call + text + ");", rise, widens};
}

// What an instruction has written has its new line, or none.
void CppEmitter::note_written(std::uint32_t n, const std::string& name, std::int64_t step) {
    for (const Access& access : program_.steps[n].accesses) {
        if (!access.write || access.offset == 0) continue;
        lines_.erase(access.offset);
        written_.insert(access.offset);
        if (!name.empty()) lines_[access.offset] = {name, step};
    }
}

// Puts an access with those of the same line, where it is of neighbours or of one place.
void CppEmitter::note_access(std::uint32_t n) {
    const OpEffects& s = program_.steps[n];
    const interpreter::DecodedOp& c = program_.kernel.code[n];
    const bool write = s.kind == Kind::store;
    const std::int64_t bytes = std::int64_t{ptx::bytes_of(s.origin.key.type)} * c.count;
    std::int64_t step = 0;
    const std::string line = line_of(s.accesses[0], step);
    const bool uniform = line.compare(0, 4, "one(") == 0;
    if (line.empty() || (step != 0 && step != bytes) || (step == 0 && write)) return;
    const auto space = static_cast<ptx::Space>(ptx::field::space.get(s.origin.key.modifiers));
    const bool shared = space == ptx::Space::shared;
    const std::int64_t end = c.imm + (step == 0 ? bytes : bytes * (interpreter::lanes / 2));
    for (std::size_t k = 0; k < groups_.size(); ++k) {
        Group& g = groups_[k];
        if (g.line != line || g.shared != shared) continue;
        const std::int64_t begin = std::min(g.begin, c.imm), align = std::max(g.align, bytes);
        if (std::max(g.end, end) - begin > 4096 || (c.imm - g.begin) % align != 0) continue;
        g = {line,  g.name, uniform, shared, write || g.write, g.slot, begin, std::max(g.end, end),
             align, step};
        group_of_[n] = k;
        return;
    }
    group_of_[n] = groups_.size();
    groups_.push_back({line, "g" + to_string(temporaries_++), uniform, shared, write, c.slot, c.imm,
                       end, bytes, step});
}

void CppEmitter::check_groups(std::uint32_t b) {
    for (const Group& g : groups_) {
        checks_.push_back("auto " + g.name + " = near<Window::" + (g.shared ? "shared" : "flat") +
                          ">(w, " + to_string(g.slot) + ", " + g.line + ", " + to_string(g.begin) +
                          ", " + to_string(g.end - g.begin) + ", " + to_string(g.align) + ", " +
                          (g.write ? "true" : "false") + ");");
        line(checks_.back());
        if (g.shared || g.step == 0) continue;
        line((question_of(b) < 0 ? "" : "if (left == 0) ") + ("fetch_ahead(" + g.name) +
             (program_.blocks[b].loop < 0 ? ");" : ", before[" + to_string(places_++) + "]);"));
    }
}

// Drops lines that neither an access nor the loop's branch needs: a compiler would, after it has
// read them.
void CppEmitter::keep_needed_lines() {
    std::set<std::string> needed;
    const auto need = [&](const std::string& text) {
        std::string word;
        for (const char c : text + " ") {
            if (c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) {
                word += c;
                continue;
            }
            needed.insert(word);
            word.clear();
        }
    };
    for (const Group& group : groups_) need(group.line);
    need(asked_);
    for (const auto& [n, name] : line_at_) need(name);
    const auto unneeded = [&](const auto& each) { return needed.count(each.name) == 0; };
    for (auto each = derived_.rbegin(); each != derived_.rend(); ++each)
        if (!unneeded(*each)) need(each->text);
    derived_.erase(std::remove_if(derived_.begin(), derived_.end(), unneeded), derived_.end());
    bases_.erase(std::remove_if(bases_.begin(), bases_.end(), unneeded), bases_.end());
}

void CppEmitter::plan(std::uint32_t b) {
    const Block& block = program_.blocks[b];
    lines_.clear();
    written_.clear();
    groups_.clear();
    group_of_.clear();
    line_at_.clear();
    invariant_affine_lines(b);
    derived_.clear();
    checks_.clear();
    bases_.clear();
    asked_.clear();
    const std::int64_t question = question_of(b);
    for (std::uint32_t n = block.first; n < block.end; ++n) {
        const OpEffects& s = program_.steps[n];
        Derived made;
        std::int64_t step = 0;
        if (!s.guarded && (s.kind == Kind::load || s.kind == Kind::store)) note_access(n);
        if (!s.guarded && s.kind == Kind::lanes) {
            const Access* to = nullptr;
            for (const Access& access : s.accesses)
                if (access.write) to = &access;
            const Register* r = to ? program_.at(to->offset) : nullptr;
            if (r && r->is_affine && !r->uniform && !r->invariant_affine) {
                made = derived(n, "l" + to_string(r->offset) + "_" + to_string(temporaries_++));
                if (!made.name.empty()) derived_.push_back(made);
                if (!made.name.empty() && program_.quotient_of(n)) line_at_[n] = made.name;
            }
        }
        if (n == question && s.accesses[2].bytes == 4) {
            const std::string left = line_of(s.accesses[2], step),
                              right = line_of(s.accesses[3], step);
            if (!left.empty() && !right.empty()) asked_ = left + ", " + right;
        }
        note_written(n, made.name, made.rise.step);
    }
    keep_needed_lines();
    for (const Base& base : bases_) line(base.text);
    for (const Derived& each : derived_) line(each.text);
    check_groups(b);
}

}  // namespace cupola::cpu::compiler
