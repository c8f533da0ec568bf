// csrc/cpu/analysis/ir_text.cpp - prints the analysis of a kernel as text.
//
// Each operation has its operands and their values: %u is uniform, %a affine in the lane with a
// step in brackets, %v divergent, %p a predicate. %U and %A do not change while a warp lives. A
// step of 0 means one value in each half of a warp.
#include "cpu/analysis/ir_text.hpp"

#include <cstdio>
#include <map>

#include "cpu/analysis/pipeline.hpp"

namespace cupola::cpu::compiler {
namespace {

using std::to_string;

constexpr const char* special_names[] = {"%tid.x", "%tid.y", "%tid.z"};

class IrText {
  public:
    explicit IrText(const KernelAnalysis& analysis) : analysis_(analysis) {}

    std::string text() {
        std::string made = "kernel " + analysis_.kernel.name() + ": " +
                           to_string(analysis_.ops.size()) + " operations, " +
                           to_string(analysis_.blocks.size()) + " blocks\n";
        if (!analysis_.batch_path.empty()) made += "  rows of threads run at once\n";
        if (analysis_.has_barrier_regions) made += "  warps run region by region\n";
        for (std::uint32_t b = 0; b < analysis_.blocks.size(); ++b) made += block(b);
        return made;
    }

  private:
    std::string block(std::uint32_t b) {
        const Block& block = analysis_.blocks[b];
        std::string made = "block " + to_string(b);
        if (block.is_loop_header) made += ", loop to block " + to_string(block.loop_end);
        if (block.is_lane_loop) made += ", by lane";
        if (block.entry) made += ", entry";
        made += "\n";
        for (std::uint32_t n = block.first; n < block.end; ++n) made += operation(n);
        return made;
    }

    std::string operation(std::uint32_t n) {
        const OpEffects& op = analysis_.ops[n];
        std::string results, sources;
        for (std::size_t k = 0; k < op.accesses.size(); ++k) {
            const Access& access = op.accesses[k];
            std::string& list = access.write ? results : sources;
            const bool memory = is_memory(op) && k == 0;
            const std::int64_t offset = memory ? analysis_.kernel.code[n].imm : 0;
            list += (list.empty() ? "" : ", ") + (memory ? std::string("[") : std::string()) +
                    operand(access) + (offset > 0 ? "+" : "") +
                    (offset != 0 ? to_string(offset) : "") + (memory ? "]" : "");
        }
        std::string text = "  ";
        if (op.guarded) text += "guarded ";
        if (!results.empty()) text += results + " = ";
        text += opcode(n) + (sources.empty() ? "" : " ") + sources;
        for (const std::uint32_t target : op.targets)
            text += " -> block " + to_string(analysis_.block_at(target));
        std::string notes = effects(n);
        if (const std::uint32_t line = analysis_.kernel.code[n].line; line != 0)
            notes += (notes.empty() ? "" : ", ") + ("line " + to_string(line));
        if (!notes.empty()) {
            text.resize(text.size() < 56 ? 56 : text.size() + 1, ' ');
            text += "; " + notes;
        }
        return text + "\n";
    }

    static bool is_memory(const OpEffects& op) {
        return op.kind == Kind::load || op.kind == Kind::store || op.kind == Kind::atomic;
    }

    // Effects besides the results.
    std::string effects(std::uint32_t n) const {
        const OpEffects& op = analysis_.ops[n];
        std::string text;
        const auto note = [&](bool holds, const char* what) {
            if (holds) text += (text.empty() ? "" : ", ") + std::string(what);
        };
        note(op.kind == Kind::load, "reads memory");
        note(op.kind == Kind::store, "writes memory");
        note(op.kind == Kind::atomic, "updates memory");
        note(is_memory(op), "may fault");
        if (op.kind == Kind::load || op.kind == Kind::store) note(true, pattern(n));
        note(op.hoisted, "hoisted");
        note(op.may_retry, "may wait");
        note(op.kind == Kind::handler, "interpreted");
        return text;
    }

    // The pattern of an access.
    const char* pattern(std::uint32_t n) const {
        const OpEffects& op = analysis_.ops[n];
        const Register* r = analysis_.at(op.accesses[0].offset);
        const std::int64_t bytes =
            std::int64_t{ptx::bytes_of(op.origin.key.type)} * analysis_.kernel.code[n].count;
        if (!r || r->uniform || r->constant || (r->is_affine && r->step == 0 && !r->per_half))
            return "uniform";
        if (r->is_affine && r->step == 0) return "uniform in halves";
        if (!r->is_affine) return "scattered";
        return r->step == bytes ? "contiguous" : "strided";
    }

    std::string opcode(std::uint32_t n) const {
        const OpEffects& op = analysis_.ops[n];
        switch (op.kind) {
            case Kind::jump:
                return "jump";
            case Kind::join:
                return "join";
            case Kind::branch:
                return (analysis_.kernel.code[n].flags & interpreter::flag::negate) != 0
                           ? "branch if not"
                           : "branch if";
            case Kind::guard_begin:
                return (analysis_.kernel.code[n].flags & interpreter::flag::negate) != 0
                           ? "guard not"
                           : "guard";
            case Kind::guard_end:
                return "guard end";
            case Kind::parameter:
                return "parameter " + to_string(op.parameter);
            case Kind::barrier:
                return "barrier";
            case Kind::exit:
                return "exit";
            default:
                break;
        }
        if (!op.has_form) return name_of(analysis_.kernel.code[n].pseudo);
        const ptx::Form& form = op.origin.form.form();
        const interpreter::Key& key = op.origin.key;
        std::string text(form.mnemonic);
        for (unsigned k = 0; k < form.slots.count; ++k) {
            const ptx::ModifierSlot& slot = *form.slots.list[k];
            const unsigned value = slot.field.get(key.modifiers);
            if (slot.field.width == 0 || (slot.optional && value == 0)) continue;
            for (unsigned c = 0; c < slot.count; ++c)
                if (slot.choices[c].value == value) {
                    text += "." + std::string(slot.choices[c].text);
                    break;
                }
        }
        for (const ptx::Type type : {key.type, key.type2})
            if (type != ptx::Type::none) text += "." + std::string(ptx::name_of(type));
        return text;
    }

    // Names pseudo-operations that have no kind of their own.
    static std::string name_of(interpreter::Pseudo what) {
        using interpreter::Pseudo;
        switch (what) {
            case Pseudo::branch_indexed:
                return "branch indexed";
            case Pseudo::call:
                return "call";
            case Pseudo::call_indirect:
                return "call indirect";
            case Pseudo::call_end:
                return "call end";
            case Pseudo::ret:
                return "return";
            case Pseudo::trap:
                return "trap";
            case Pseudo::breakpoint:
                return "breakpoint";
            case Pseudo::barrier:
                return "barrier with a result";
            case Pseudo::barrier_arrive:
                return "barrier arrive";
            case Pseudo::cluster_arrive:
                return "cluster arrive";
            case Pseudo::cluster_wait:
                return "cluster wait";
            case Pseudo::sleep:
                return "sleep";
            case Pseudo::read_clock:
                return "read clock";
            case Pseudo::runtime_call:
                return "call of the device runtime";
            case Pseudo::pack:
                return "pack";
            case Pseudo::unpack:
                return "unpack";
            case Pseudo::count_lines:
                return "count lines";
            case Pseudo::count_branch:
                return "count branch";
            case Pseudo::count_table:
                return "count table";
            default:
                return "unknown";
        }
    }

    std::string operand(const Access& access) {
        const Register* r = analysis_.at(access.offset);
        if (!r) return access.write ? "_" : "0";
        if (r->constant) return constant(*r);
        if (r->tid_dimension >= 0) return special_names[r->tid_dimension];
        if (r->ctaid_dimension >= 0) return std::string("%ctaid.") + "xyz"[r->ctaid_dimension];
        const auto [at, fresh] = numbers_.emplace(r->offset, numbers_.size());
        const std::string number = to_string(at->second);
        if (r->bytes == 0) return (r->uniform ? "%P" : "%p") + number;
        if (r->uniform) return "%U" + number;
        if (!r->is_affine) return "%v" + number;
        if (r->step == 0 && !r->per_half) return (r->invariant_affine ? "%U" : "%u") + number;
        return (r->invariant_affine ? "%A" : "%a") + number + "(" + (r->step < 0 ? "" : "+") +
               to_string(r->step) + ")";
    }

    static std::string constant(const Register& r) {
        if (r.bytes == 0) return r.value ? "true" : "false";
        const auto value = static_cast<std::int64_t>(
            r.bytes == 4 ? static_cast<std::int32_t>(r.value) : static_cast<std::int64_t>(r.value));
        char text[32];
        std::snprintf(text, sizeof text, value > -65536 && value < 65536 ? "%lld" : "0x%llx",
                      static_cast<long long>(value));
        return text;
    }

    const KernelAnalysis& analysis_;
    std::map<std::int32_t, std::size_t> numbers_;  // of registers, in the order of the text
};

}  // namespace

std::string ir_of(const Kernel& kernel) {
    try {
        return IrText(analyse(static_cast<const KernelCode&>(kernel))).text();
    } catch (const UnsupportedKernel& no) {
        return "kernel " + kernel.name() + " has no analysis: " + no.why + "\n";
    }
}

}  // namespace cupola::cpu::compiler
