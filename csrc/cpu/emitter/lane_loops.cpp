// csrc/cpu/emitter/lane_loops.cpp - loops that the lanes execute one after another.
//
// While a lane runs, scalars hide the vectors of the same names.
#include "cpu/emitter/lane_loops.hpp"

#include <algorithm>
#include <set>

#include "cpu/emitter/address_checks.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {

std::string copy_of(const Register& r) { return "x" + to_string(r.offset); }
bool is_variable(const Register* r) { return r && !r->constant && !r->uniform; }

}  // namespace

void LaneLoops::find_groups(const Block& block) {
    groups_.clear();
    group_of_.clear();
    std::map<std::int32_t, std::size_t> open;  // groups of values that registers still have
    for (std::uint32_t n = block.first; n < block.end; ++n) {
        const OpEffects& op = analysis_.ops[n];
        if (op.hoisted) continue;
        if (op.kind == Kind::load) {
            const std::int64_t at = analysis_.kernel.code[n].imm;
            const unsigned bytes = ptx::bytes_of(op.origin.key.type);
            const std::int32_t address = op.accesses[0].offset;
            const auto found = op.guarded ? open.end() : open.find(address);
            LoadGroup* const g = found == open.end() ? nullptr : &groups_[found->second];
            if (g && is_shared(analysis_.ops[g->first]) == is_shared(op) &&
                (at - g->begin) % std::max(g->align, bytes) == 0) {
                g->begin = std::min(g->begin, at);
                g->end = std::max(g->end, at + bytes);
                g->align = std::max(g->align, bytes);
                group_of_[n] = found->second;
            } else {
                if (!op.guarded) open[address] = groups_.size();
                group_of_[n] = groups_.size();
                groups_.push_back({n, at, at + bytes, bytes, "range" + out_.next_number()});
            }
        }
        for (const Access& access : op.accesses)
            if (access.write) open.erase(access.offset);
    }
}

void LaneLoops::find_registers(const Block& block) {
    registers_.clear();
    results_.clear();
    inputs_.clear();
    std::set<const Register*> used, written, defined;
    for (std::uint32_t n = block.first; n < block.end; ++n) {
        const OpEffects& op = analysis_.ops[n];
        if (op.hoisted) continue;
        for (const Access& access : op.accesses) {
            const Register* const r = analysis_.at(access.offset);
            if (!is_variable(r)) continue;
            if (used.insert(r).second) registers_.push_back(r);
            if (access.write ? op.guarded : defined.count(r) == 0) inputs_.insert(r);
        }
        for (const Access& access : op.accesses) {
            const Register* const r = analysis_.at(access.offset);
            if (!access.write || !is_variable(r)) continue;
            written.insert(r);
            if (!op.guarded) defined.insert(r);
        }
    }
    for (const Register* r : registers_) {
        bool live = false;
        for (const std::uint32_t next : block.successors)
            live |= analysis_.blocks[next].live[analysis_.index_of(*r)];
        if (live && written.count(r) != 0) results_.push_back(r);
    }
}

// Other registers hold values within an iteration only.
bool LaneLoops::is_copied(const Register* r) const {
    return inputs_.count(r) != 0 ||
           std::find(results_.begin(), results_.end(), r) != results_.end();
}

void LaneLoops::emit_copies() {
    for (const Register* r : registers_) {
        if (r->in_file || !is_copied(r)) continue;
        if (r->bytes == 0) {
            out_.emit("std::uint32_t " + copy_of(*r) + " = " + r->name() + ";");
            continue;
        }
        out_.emit("alignas(64) " + word_type(r->bytes) + " " + copy_of(*r) + "[lanes]; unpack(" +
                  r->name() + ", " + copy_of(*r) + ");");
    }
}

void LaneLoops::emit_ranges() {
    std::string usable;
    for (const LoadGroup& g : groups_) {
        out_.emit("const ReadableRange<" +
                  std::string(window_name(is_shared(analysis_.ops[g.first]))) + ", " +
                  to_string(g.align) + "> " + g.name + "(w, " +
                  to_string(analysis_.kernel.code[g.first].slot) + ", " +
                  to_string(g.end - g.begin) + ");");
        usable += (usable.empty() ? "" : " & ") + g.name + ".usable";
    }
    out_.emit("if (" + usable + ") {");
}

void LaneLoops::emit_load(std::uint32_t n, const std::string& fail) {
    const OpEffects& op = analysis_.ops[n];
    const LoadGroup& g = groups_[group_of_.at(n)];
    const std::string from = "from_" + g.name, word = word_type(op.accesses[0].bytes);
    if (g.first == n) {
        const std::string text = "static_cast<" + word + ">(" + operands_.input(op.accesses[0]) +
                                 ".value + static_cast<" + word + ">(" + to_string(g.begin) + "))";
        out_.emit((op.guarded ? "const std::uint64_t " : "") + from + " = " + text + ";");
        out_.emit("if (__builtin_expect(!" + g.name + ".allows(" + from + "), 0)) goto " + fail +
                  ";");
    }
    const Register* const to = analysis_.at(op.accesses[1].offset);
    if (!to) return;
    out_.emit(to->name() + " = fetch<" + word_type(op.accesses[1].bytes) + ">(" + g.name +
              ".host + " + from + " + " + to_string(analysis_.kernel.code[n].imm - g.begin) + ");");
}

void LaneLoops::emit_lane(const Block& block, const std::string& fail) {
    for (const Register* r : registers_) {
        const std::string type = word_type(r->bytes ? r->bytes : 4);
        std::string value = copy_of(*r) + "[lane]";
        if (inputs_.count(r) == 0)
            value = "0";
        else if (r->bytes == 0)
            value = "0 - (" + copy_of(*r) + " >> lane & 1)";
        else if (r->in_file)
            value = "fetch<" + type + ">(reinterpret_cast<std::uint64_t>(r + " +
                    to_string(r->offset) + ") + lane * sizeof(" + type + "))";
        out_.emit(type + " " + r->name() + " = " + value + "; (void)" + r->name() + ";");
    }
    out_.emit("std::uint32_t count = 0; bool again;");
    out_.emit("for (;;) {");
    for (const LoadGroup& g : groups_)
        if (!analysis_.ops[g.first].guarded) out_.emit("std::uint64_t from_" + g.name + ";");
    operands_.set_one_lane(true);
    for (std::uint32_t n = block.first; n + 1 < block.end; ++n) {
        const OpEffects& op = analysis_.ops[n];
        if (op.hoisted) continue;
        switch (op.kind) {
            case Kind::load:
                emit_load(n, fail);
                break;
            case Kind::guard_begin: {
                const bool negate =
                    (analysis_.kernel.code[n].flags & interpreter::flag::negate) != 0;
                out_.emit("if ((" + operands_.input(op.accesses[0]) + ".bits & 1) " +
                          (negate ? "==" : "!=") + " 0) {");
                break;
            }
            case Kind::guard_end:
                out_.emit("}");
                break;
            default:
                computations_.emit_uniform(n);
        }
    }
    const std::uint32_t last = block.end - 1;
    const bool negate = (analysis_.kernel.code[last].flags & interpreter::flag::negate) != 0;
    out_.emit("again = (" + operands_.input(analysis_.ops[last].accesses[0]) + ".bits & 1) " +
              (negate ? "==" : "!=") + " 0;");
    operands_.set_one_lane(false);
    out_.emit("++count;");
    out_.emit("if (!again || count >= limit) break; }");
    for (const Register* r : results_) {
        if (r->bytes != 0)
            out_.emit(copy_of(*r) + "[lane] = " + r->name() + ";");
        else
            out_.emit(copy_of(*r) + " = (" + copy_of(*r) + " & ~(1u << lane)) | (" + r->name() +
                      " & 1) << lane;");
    }
    out_.emit("repeated |= static_cast<std::uint32_t>(again) << lane;");
    out_.emit("if (count > most) most = count;");
}

void LaneLoops::emit_results() {
    for (const Register* r : results_)
        out_.emit(r->bytes == 0 ? r->name() + " = " + copy_of(*r) + ";"
                                : "pack(" + copy_of(*r) + ", " + r->name() + ");");
}

void LaneLoops::emit(std::uint32_t b) {
    const Block& block = analysis_.blocks[b];
    const std::uint32_t last = block.end - 1;
    const std::string loop = "lane_loop" + to_string(b), fail = "F" + to_string(b),
                      name = part_.in_frame(loop),
                      cost = to_string(analysis_.kernel.code[last].cost);
    find_groups(block);
    find_registers(block);
    variables_ += "    LaneLoop " + loop + ";\n";
    out_.emit("bool by_lane = false;");
    out_.emit("if (" + name + ".may_run()) {");
    emit_ranges();
    emit_copies();
    out_.emit("const std::uint32_t limit = iterations_in_slice(w, " + cost + ");");
    out_.emit("std::uint32_t repeated = 0, most = 0;");
    out_.emit("for (std::uint32_t some = mask; some != 0; some &= some - 1) {");
    out_.emit("const auto lane = static_cast<unsigned>(__builtin_ctz(some));");
    emit_lane(block, fail);
    out_.emit("}");
    emit_results();
    // The branch at the end of the block charges the last iteration.
    out_.emit("w.budget -= static_cast<std::int32_t>(most - 1) * " + cost + ";");
    const Register& condition = *analysis_.at(analysis_.ops[last].accesses[0].offset);
    const bool negate = (analysis_.kernel.code[last].flags & interpreter::flag::negate) != 0;
    out_.emit(condition.name() + " = (" + condition.name() + " & ~mask) | " +
              (negate ? "(mask & ~repeated);" : "repeated;"));
    out_.emit("by_lane = true; }");
    out_.emit(fail + ": " + name + ".note(by_lane); }");
}

}  // namespace cupola::cpu::compiler
