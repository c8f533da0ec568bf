// csrc/cpu/interpreter/call.cpp - decodes calls: arguments, results and saved registers.
#include <algorithm>
#include <string_view>

#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/decode.hpp"

namespace cupola::cpu::interpreter {

using ptx::Type;

namespace {
constexpr std::size_t max_targets = 1 << 20;  // of all calls of a kernel
}

void Decoder::call(const ptx::Instruction& i) {
    const ptx::Call& c = f_->calls[i.call];
    const bool direct = c.pointer == ptx::absent;
    if (direct && !module_.functions[c.function].defined)
        return builtin(i, c, module_.functions[c.function]);
    const std::vector<std::uint32_t> callees = graph_.callees(*f_, c);
    CallSite site;
    bool ring = false;
    for (const std::uint32_t callee : callees) {
        ring |= graph_.in_cycle(part_->function, callee);
        // A callee that is not decoded yet is recursive; its depth is checked at run time.
        const std::uint64_t frame = module_.functions[callee].frame_bytes;
        const auto size = static_cast<std::uint32_t>(rounded(frame, kernel_->local_align));
        site.needed = std::max({site.needed, parts_[part_of_[callee]].deepest, size});
    }
    site.save_at = part_->frame;
    site.frame = part_->frame + (ring ? part_->save : 0);
    // The callees' parameters. All possible targets of an indirect call have the same layout.
    if (!callees.empty()) {
        const ptx::Function& to = module_.functions[callees[0]];
        for (std::size_t n = 0; n < c.arguments.size(); ++n) {
            const ptx::Variable& from = f_->frame[c.arguments[n]];
            const ptx::Variable& into = to.frame[to.formals[n]];
            site.arguments.push_back({site.frame + static_cast<std::uint32_t>(into.offset),
                                      static_cast<std::uint32_t>(from.offset),
                                      static_cast<std::uint32_t>(from.size)});
        }
        for (std::size_t n = 0; n < c.results.size(); ++n) {
            const ptx::Variable& into = f_->frame[c.results[n]];
            const ptx::Variable& from = to.frame[to.results[n]];
            site.results.push_back({static_cast<std::uint32_t>(into.offset),
                                    site.frame + static_cast<std::uint32_t>(from.offset),
                                    static_cast<std::uint32_t>(into.size)});
        }
    }
    if (ring)
        for (std::uint32_t r = 0; r < f_->registers.size(); ++r)
            site.saved.push_back(
                {reg(r), f_->registers[r] == Type::pred ? 0 : ptx::bytes_of(f_->registers[r])});
    if (!direct) {
        targets_ += callees.size();
        if (targets_ > max_targets)
            fail(i.line, "the indirect calls of the kernel have too many targets");
        for (const std::uint32_t callee : callees)
            site.targets.push_back({placement_.functions[callee], callee});
    }
    const auto index = static_cast<std::int64_t>(kernel_->calls.size());
    kernel_->calls.push_back(std::move(site));
    if (direct)
        call_fixups_.push_back({static_cast<std::uint32_t>(kernel_->code.size()), c.function});
    DecodedOp& code = direct ? emit(control.call) : emit(control.call_indirect, reg(c.pointer));
    code.imm = index;
    code.flags = flag::strong;
    emit(control.call_end).imm = index;
}

// Functions that the device provides.
void Decoder::builtin(const ptx::Instruction& i, const ptx::Call& c, const ptx::Function& to) {
    struct Known {
        std::string_view name;
        std::vector<unsigned> arguments;
        unsigned result = 0;
        bool result_needed = false;
        BoundHandler run{};
    };
    static const Known list[] = {
        {"vprintf", {8, 8}, 4, false, control.print},
        {"__assertfail", {8, 8, 4, 8, 8}, 4, false, control.assertion},
        {"malloc", {8}, 8, true, control.allocate},
        {"free", {8}, 0, false, control.release},
        {"cudaGraphSetConditional", {8, 4}, 0, false, control.set_condition},
    };
    const Known* known = nullptr;
    for (const Known& each : list)
        if (each.name == to.name && each.arguments.size() == c.arguments.size()) known = &each;
    const DeviceFunction* const runtime = known ? nullptr : find_device_function(to.name);
    Known of_runtime;
    if (runtime) {
        of_runtime = {runtime->name, {}, runtime->result, false, control.call_runtime};
        for (const unsigned bytes : runtime->arguments)
            if (bytes != 0) of_runtime.arguments.push_back(bytes);
        known = &of_runtime;
        kernel_->calls_runtime = true;
        kernel_->calls_stream |= runtime->kind == DeviceFunction::Kind::stream;
        kernel_->calls_graph |= runtime->kind == DeviceFunction::Kind::graph;
    }
    if (!known) fail(i.line, "function '" + to.name + "' is not defined", true);
    if (known->arguments.size() != c.arguments.size())
        fail(i.line, "the arguments do not match function '" + to.name + "'");
    CallSite site;
    site.runtime = runtime;
    for (std::size_t n = 0; n < c.arguments.size(); ++n) {
        const ptx::Variable& from = f_->frame[c.arguments[n]];
        if (from.size != known->arguments[n])
            fail(i.line, "the arguments do not match function '" + to.name + "'");
        site.arguments.push_back({0, static_cast<std::uint32_t>(from.offset), known->arguments[n]});
    }
    if (!c.results.empty() || known->result_needed) {
        if (c.results.size() != 1 || f_->frame[c.results[0]].size != known->result)
            fail(i.line, "the result does not match function '" + to.name + "'");
        site.results.push_back(
            {static_cast<std::uint32_t>(f_->frame[c.results[0]].offset), 0, known->result});
    }
    emit(known->run).imm = static_cast<std::int64_t>(kernel_->calls.size());
    kernel_->calls.push_back(std::move(site));
}

}  // namespace cupola::cpu::interpreter
