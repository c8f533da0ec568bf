// csrc/cpu/interpreter/call_decoder.cpp - decodes calls: arguments, results and saved registers.
#include "cpu/interpreter/call_decoder.hpp"

#include <algorithm>
#include <string_view>

#include "cpu/interpreter/control.hpp"

namespace cupola::cpu::interpreter {
namespace {

// The most targets that all calls of a kernel have together.
constexpr std::size_t max_targets = 1 << 20;

}  // namespace

void CallDecoder::decode(const ptx::Instruction& i) {
    const ptx::Call& c = functions_.current().calls[i.call];
    const bool direct = c.pointer == ptx::absent;
    if (direct && !functions_.module().functions[c.function].defined)
        return builtin(i, c, functions_.module().functions[c.function]);
    const std::vector<std::uint32_t> callees = functions_.graph().callees(functions_.current(), c);
    CallSite site;
    bool ring = false;
    for (const std::uint32_t callee : callees) {
        ring |= functions_.graph().in_cycle(functions_.part().function, callee);
        // A callee that is not decoded yet is recursive; its depth is checked at run time.
        const std::uint64_t frame = functions_.module().functions[callee].frame_bytes;
        const auto size = static_cast<std::uint32_t>(rounded(frame, code_.kernel().local_align));
        site.needed = std::max({site.needed, functions_.part_of(callee).deepest, size});
    }
    site.save_at = functions_.part().frame;
    site.frame = functions_.part().frame + (ring ? functions_.part().save : 0);
    // The callees' parameters. All possible targets of an indirect call have the same layout.
    if (!callees.empty()) {
        const ptx::Function& to = functions_.module().functions[callees[0]];
        for (std::size_t n = 0; n < c.arguments.size(); ++n) {
            const ptx::Variable& from = functions_.current().frame[c.arguments[n]];
            const ptx::Variable& into = to.frame[to.formals[n]];
            site.arguments.push_back({site.frame + static_cast<std::uint32_t>(into.offset),
                                      static_cast<std::uint32_t>(from.offset),
                                      static_cast<std::uint32_t>(from.size)});
        }
        for (std::size_t n = 0; n < c.results.size(); ++n) {
            const ptx::Variable& into = functions_.current().frame[c.results[n]];
            const ptx::Variable& from = to.frame[to.results[n]];
            site.results.push_back({static_cast<std::uint32_t>(into.offset),
                                    site.frame + static_cast<std::uint32_t>(from.offset),
                                    static_cast<std::uint32_t>(into.size)});
        }
    }
    if (ring)
        for (std::uint32_t r = 0; r < functions_.current().registers.size(); ++r)
            site.saved.push_back(
                {operands_.reg(r), functions_.current().registers[r] == Type::pred
                                       ? 0
                                       : ptx::bytes_of(functions_.current().registers[r])});
    if (!direct) {
        targets_ += callees.size();
        if (targets_ > max_targets)
            code_.fail(i.line, "the indirect calls of the kernel have too many targets");
        for (const std::uint32_t callee : callees)
            site.targets.push_back({symbols_.function_address(callee), callee});
    }
    const auto index = static_cast<std::int64_t>(code_.kernel().calls.size());
    code_.kernel().calls.push_back(std::move(site));
    if (direct) direct_.push_back({code_.size(), c.function});
    DecodedOp& code = direct ? code_.emit(control.call)
                             : code_.emit(control.call_indirect, operands_.reg(c.pointer));
    code.imm = index;
    code.flags = flag::strong;
    code_.emit(control.call_end).imm = index;
}

// Functions that the device provides.
void CallDecoder::builtin(const ptx::Instruction& i, const ptx::Call& c, const ptx::Function& to) {
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
        code_.kernel().calls_runtime = true;
        code_.kernel().calls_stream |= runtime->kind == DeviceFunction::Kind::stream;
        code_.kernel().calls_graph |= runtime->kind == DeviceFunction::Kind::graph;
    }
    if (!known) code_.fail(i.line, "function '" + to.name + "' is not defined", true);
    if (known->arguments.size() != c.arguments.size())
        code_.fail(i.line, "the arguments do not match function '" + to.name + "'");
    CallSite site;
    site.runtime = runtime;
    for (std::size_t n = 0; n < c.arguments.size(); ++n) {
        const ptx::Variable& from = functions_.current().frame[c.arguments[n]];
        if (from.size != known->arguments[n])
            code_.fail(i.line, "the arguments do not match function '" + to.name + "'");
        site.arguments.push_back({0, static_cast<std::uint32_t>(from.offset), known->arguments[n]});
    }
    if (!c.results.empty() || known->result_needed) {
        if (c.results.size() != 1 || functions_.current().frame[c.results[0]].size != known->result)
            code_.fail(i.line, "the result does not match function '" + to.name + "'");
        site.results.push_back(
            {static_cast<std::uint32_t>(functions_.current().frame[c.results[0]].offset), 0,
             known->result});
    }
    code_.emit(known->run).imm = static_cast<std::int64_t>(code_.kernel().calls.size());
    code_.kernel().calls.push_back(std::move(site));
}

void CallDecoder::resolve() {
    KernelCode& kernel = code_.kernel();
    for (const auto& [at, callee] : direct_)
        kernel.code[at].target = static_cast<std::int32_t>(functions_.part_of(callee).start) -
                                 static_cast<std::int32_t>(at);
    for (CallSite& site : kernel.calls)
        for (auto& [address, to] : site.targets) to = functions_.part_of(to).start;
}

}  // namespace cupola::cpu::interpreter
