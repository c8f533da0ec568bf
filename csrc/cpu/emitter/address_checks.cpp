// csrc/cpu/emitter/address_checks.cpp - the affine addresses of a basic block, and the checks of
// its accesses in advance.
#include "cpu/emitter/address_checks.hpp"

#include <algorithm>

#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {

const char* name_of(Proof proof) {
    switch (proof) {
        case Proof::linear:
            return "linear";
        case Proof::endpoints:
            return "endpoints";
        case Proof::low_bits:
            return "low_bits";
        case Proof::field:
            return "field";
        case Proof::uniform:
            break;
    }
    return "uniform";
}

}  // namespace

std::int64_t predictable_compare(const KernelAnalysis& analysis, std::uint32_t b) {
    const Block& block = analysis.blocks[b];
    const OpEffects& last = analysis.ops[block.end - 1];
    if (!analysis.is_straight_loop(b)) return -1;
    std::int64_t found = -1;
    for (std::uint32_t n = block.first; n + 1 < block.end; ++n) {
        for (const Access& access : analysis.ops[n].accesses)
            if (access.write && access.offset == last.accesses[0].offset) found = n;
    }
    return found >= 0 && is_ordered(analysis.ops[static_cast<std::uint32_t>(found)]) ? found : -1;
}

AffineName AddressChecks::affine_operand(const Access& access) {
    const Register* r = analysis_.at(access.offset);
    if (!r || r->constant || r->uniform) return {operands_.input(access), 0, true};
    if (operands_.is_scalar(r->offset)) return {scalar_name(*r), r->step, false};
    if (r->invariant_affine && operands_.in_batch_statements())
        return {"of_threads(l" + to_string(r->offset) + ", from, size)", r->step, false};
    if (r->invariant_affine) return {"l" + to_string(r->offset), r->step, false};
    const auto found = affine_.find(r->offset);
    if (found != affine_.end()) return found->second;
    if (!r->is_affine || written_.count(r->offset) != 0) return {};
    const bool uniform = r->step == 0 && !r->per_half;
    const std::string name = "l" + to_string(r->offset) + "_" + out_.next_number();
    const std::string text =
        "const auto " + name + " = " +
        (uniform ? std::string("match_uniform(") : "match_affine<" + to_string(r->step) + ">(");
    detected_.push_back({name, r->offset, text + r->name() + ", mask);"});
    affine_[r->offset] = {name, r->step, uniform};
    return affine_[r->offset];
}

// Emits the invariant affine values that the addresses of a basic block need: thread indices first,
// then values derived from them. Each basic block computes its own, because a warp that waits
// resumes after them and most blocks need few. The compiler hoists them out of loops.
void AddressChecks::emit_invariant_affine(std::uint32_t b) {
    const Block& block = analysis_.blocks[b];
    std::set<std::int32_t> needed;
    const auto need = [&](std::uint32_t n) {
        for (const Access& access : analysis_.ops[n].accesses) {
            const Register* r = access.write ? nullptr : analysis_.at(access.offset);
            if (r && r->invariant_affine) needed.insert(r->offset);
        }
    };
    for (std::uint32_t n = block.first; n < block.end; ++n) {
        need(n);
        if (const Register* r = analysis_.affine_quotient(n); r && r->invariant_affine) {
            needed.insert(r->offset);
            quotients_[n] = "l" + to_string(r->offset);
        }
    }
    emit_invariant_affine(needed);
}

void AddressChecks::emit_quotients() {
    std::set<std::int32_t> needed;
    for (std::uint32_t n = 0; n < analysis_.ops.size(); ++n)
        if (const Register* r = analysis_.affine_quotient(n); r && r->invariant_affine)
            needed.insert(r->offset);
    emit_invariant_affine(needed);
    function_affine_ = std::move(needed);
}

// Emits the needed values, and the values that they are derived from.
void AddressChecks::emit_invariant_affine(std::set<std::int32_t>& needed) {
    for (auto each = analysis_.invariant_affine.rbegin(); each != analysis_.invariant_affine.rend();
         ++each) {
        const Register& r = analysis_.registers[*each];
        if (needed.count(r.offset) == 0 || function_affine_.count(r.offset) != 0) continue;
        for (const Access& access : analysis_.ops[r.definition].accesses) {
            const Register* from = access.write ? nullptr : analysis_.at(access.offset);
            if (from && from->invariant_affine) needed.insert(from->offset);
        }
    }
    for (const Register& r : analysis_.registers) {
        if (!r.special || needed.count(r.offset) == 0 || function_affine_.count(r.offset) != 0)
            continue;
        const std::string begin = "const auto l" + to_string(r.offset) + " = ";
        const std::string step = "<" + to_string(r.step) + ">(";
        if (r.tid_dimension >= 0 && r.bytes == 4) {
            out_.emit(begin + "thread_affine" + step + "w.thread[" + to_string(r.tid_dimension) +
                      "]);");
            continue;
        }
        const std::string t = out_.temporary(r.bytes);
        out_.emit(fill(t, r.bytes, r.offset));
        out_.emit(begin + "match_affine" + step + t + ", all_lanes);");
    }
    for (const std::uint32_t n : analysis_.invariant_affine) {
        const Register& r = analysis_.registers[n];
        if (needed.count(r.offset) != 0 && function_affine_.count(r.offset) == 0)
            out_.emit(affine_result(r.definition, "l" + to_string(r.offset)).text);
    }
}

AffineResult AddressChecks::affine_result(std::uint32_t n, const std::string& name) {
    const OpEffects& s = analysis_.ops[n];
    std::vector<std::int64_t> steps;
    std::string text;
    bool uniform = true;
    unsigned read = 0, written = 0;
    for (const Access& access : s.accesses) {
        if (access.write) {
            written = access.bytes;
            continue;
        }
        const AffineName operand = affine_operand(access);
        if (operand.name.empty()) return {};
        text += (text.empty() ? "" : ", ") + operand.name;
        steps.push_back(operand.step);
        uniform &= operand.uniform;
        read = read == 0 || access.bytes < read ? access.bytes : read;
    }
    AffineStep affine;
    if (!analysis_.affine_step(n, steps, affine)) return {};
    const std::string made =
        row_type(s) + ", " + word_type(written) + ", " + to_string(affine.step);
    const bool widens = written > read;
    const std::string proof = std::string(", Proof::") + name_of(affine.proof) + ">(";
    const std::string types = made + (widens ? ", true" : ", false") + proof;
    const std::string begin = "const auto " + name + " = ";
    if (!operands_.in_block_batch())
        return {name, begin + "apply_affine<" + types + text + ");", affine, widens, uniform};
    if (operands_.in_batch_statements())
        return {name, name + " = apply_block_affine<" + types + "size, " + text + ");", affine,
                widens, uniform};
    std::string block = begin + "apply_block_affine<" + types + "threads, " + text + ");";
    if (affine.proof == Proof::endpoints || affine.proof == Proof::low_bits ||
        affine.proof == Proof::field)
        block += " if (__builtin_expect(!" + name + ".holds, 0)) { threads = affine_threads<" +
                 types + "threads, " + text + "); goto shorter; }";
    return {name, block, affine, widens, uniform};
}

// After an instruction, each of its results has a new affine value or none.
void AddressChecks::record_write(std::uint32_t n, const AffineResult& made) {
    for (const Access& access : analysis_.ops[n].accesses) {
        if (!access.write || access.offset == 0) continue;
        affine_.erase(access.offset);
        written_.insert(access.offset);
        if (!made.name.empty())
            affine_[access.offset] = {made.name, made.affine.step, made.uniform};
    }
}

// Adds an access to a group with the same affine address.
void AddressChecks::add_to_group(std::uint32_t n) {
    const OpEffects& s = analysis_.ops[n];
    const interpreter::DecodedOp& c = analysis_.kernel.code[n];
    const bool write = s.kind == Kind::store;
    const std::int64_t bytes = std::int64_t{ptx::bytes_of(s.origin.key.type)} * c.count;
    const AffineName address = affine_operand(s.accesses[0]);
    const std::string& affine = address.name;
    const std::int64_t step = address.step;
    const bool uniform = address.uniform;
    // Steps are whole elements, so that one alignment test suffices.
    if (affine.empty() || step < 0 || step % bytes != 0 || (step == 0 && write)) return;
    const bool shared = is_shared(s);
    const std::int64_t end = c.imm + step * (interpreter::lanes / 2 - 1) + bytes;
    for (std::size_t k = 0; k < groups_.size(); ++k) {
        AccessGroup& g = groups_[k];
        if (g.affine != affine || g.shared != shared) continue;
        const std::int64_t begin = std::min(g.begin, c.imm), align = std::max(g.align, bytes);
        if (std::max(g.end, end) - begin > 4096 + step * (interpreter::lanes / 2 - 1) ||
            (c.imm - g.begin) % align != 0)
            continue;
        g = {affine, g.name, uniform, shared, write || g.write, g.slot, begin, std::max(g.end, end),
             align,  step};
        group_of_[n] = k;
        return;
    }
    group_of_[n] = groups_.size();
    groups_.push_back({affine, "g" + out_.next_number(), uniform, shared, write, c.slot, c.imm, end,
                       bytes, step});
}

void AddressChecks::emit_group_checks(std::uint32_t b) {
    for (const AccessGroup& g : groups_) {
        checks_.push_back("auto " + g.name + " = check_affine<" + window_name(g.shared) + ">(w, " +
                          to_string(g.slot) + ", " + g.affine + ", " + to_string(g.begin) + ", " +
                          to_string(g.end - g.begin) + ", " + to_string(g.align) + ", " +
                          (g.write ? "true" : "false") + ");");
        out_.emit(checks_.back());
        if (g.shared || g.step == 0) continue;
        out_.emit((predictable_compare(analysis_, b) < 0 ? "" : "if (remaining == 0) ") +
                  ("prefetch_ahead(" + g.name) +
                  (analysis_.blocks[b].loop < 0
                       ? ");"
                       : ", last_address[" + to_string(prefetch_sites_++) + "]);"));
    }
}

// Drops affine values that neither an access nor the loop's comparison uses. The compiler would
// drop them too, but only after parsing them.
void AddressChecks::drop_unused_affine() {
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
    for (const AccessGroup& group : groups_) need(group.affine);
    need(compare_operands_);
    for (const auto& [n, name] : quotients_) need(name);
    const auto unneeded = [&](const auto& each) { return needed.count(each.name) == 0; };
    for (auto each = derived_.rbegin(); each != derived_.rend(); ++each)
        if (!unneeded(*each)) need(each->text);
    derived_.erase(std::remove_if(derived_.begin(), derived_.end(), unneeded), derived_.end());
    detected_.erase(std::remove_if(detected_.begin(), detected_.end(), unneeded), detected_.end());
}

void AddressChecks::emit_block(std::uint32_t b) {
    const Block& block = analysis_.blocks[b];
    affine_.clear();
    written_.clear();
    clear_groups();
    quotients_.clear();
    emit_invariant_affine(b);
    derived_.clear();
    checks_.clear();
    detected_.clear();
    compare_operands_.clear();
    const std::int64_t compare = predictable_compare(analysis_, b);
    for (std::uint32_t n = block.first; n < block.end; ++n) {
        const OpEffects& s = analysis_.ops[n];
        AffineResult made;
        if (!s.guarded && (s.kind == Kind::load || s.kind == Kind::store)) add_to_group(n);
        if (!s.guarded && s.kind == Kind::lanes) {
            const Access* to = nullptr;
            for (const Access& access : s.accesses)
                if (access.write) to = &access;
            const Register* r = to ? analysis_.at(to->offset) : nullptr;
            if (r && r->is_affine && !r->uniform && !r->invariant_affine) {
                made = affine_result(n, "l" + to_string(r->offset) + "_" + out_.next_number());
                if (!made.name.empty()) derived_.push_back(made);
                if (!made.name.empty() && analysis_.affine_quotient(n)) quotients_[n] = made.name;
            }
        }
        if (n == compare && s.accesses[2].bytes == 4) {
            const std::string left = affine_operand(s.accesses[2]).name,
                              right = affine_operand(s.accesses[3]).name;
            if (!left.empty() && !right.empty()) compare_operands_ = left + ", " + right;
        }
        record_write(n, made);
    }
    drop_unused_affine();
    for (const DetectedAffine& base : detected_) out_.emit(base.text);
    for (const AffineResult& each : derived_) out_.emit(each.text);
    emit_group_checks(b);
}

const AccessGroup* AddressChecks::group_of(std::uint32_t n) const {
    const auto found = group_of_.find(n);
    return found == group_of_.end() ? nullptr : &groups_[found->second];
}

const std::string* AddressChecks::quotient(std::uint32_t n) const {
    const auto found = quotients_.find(n);
    return found == quotients_.end() ? nullptr : &found->second;
}

void AddressChecks::clear_groups() {
    groups_.clear();
    group_of_.clear();
}

}  // namespace cupola::cpu::compiler
