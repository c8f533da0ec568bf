// csrc/cpu/interpreter/decode.cpp - decodes a kernel and its callees into one piece of code.
//
// Each function has its own registers in the kernel's register file, so a call copies none. Only a
// recursive call saves registers, to the thread's local memory.
#include "cpu/interpreter/decode.hpp"

#include <algorithm>
#include <utility>

#include "cpu/interpreter/block_order.hpp"
#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/instruction_decoder.hpp"
#include "cpu/interpreter/register_estimate.hpp"

namespace cupola::cpu::interpreter {
namespace {

class KernelDecoder {
  public:
    KernelDecoder(const DecodedModule& shared, std::uint32_t entry, KernelCode& kernel)
        : shared_(shared),
          kernel_(kernel),
          code_(kernel, shared.handlers, shared.source),
          functions_(shared.module, shared.graph, entry, code_),
          registers_(code_),
          symbols_(code_, functions_, registers_, shared.placement),
          operands_(code_, functions_, registers_, symbols_),
          addresses_(code_, functions_, registers_, symbols_, operands_),
          stack_(code_, functions_, registers_, operands_),
          calls_(code_, functions_, symbols_, operands_),
          control_(code_, functions_, registers_, operands_, stack_, calls_),
          instructions_(code_, functions_, registers_, symbols_, operands_, addresses_, control_) {}

    void decode();

  private:
    void describe(const ptx::Function& f);
    void function(DecodedFunction& part);
    void count(std::uint32_t i);

    const DecodedModule& shared_;
    KernelCode& kernel_;
    CodeBuilder code_;
    DecodedFunctions functions_;
    RegisterFile registers_;
    SymbolAddresses symbols_;
    OperandDecoder operands_;
    AddressDecoder addresses_;
    StackDecoder stack_;
    CallDecoder calls_;
    ControlDecoder control_;
    InstructionDecoder instructions_;
};

void KernelDecoder::decode() {
    const ptx::Module& module = shared_.module;
    if (shared_.counters) kernel_.counters.module = shared_.counters;
    describe(module.functions[functions_.list().back()]);
    symbols_.place_shared();
    kernel_.stack_pointer = registers_.special(Hidden::stack_pointer, 4);
    std::size_t instructions = 0;
    for (const std::uint32_t n : functions_.list()) {
        const ptx::Function& f = module.functions[n];
        kernel_.local_align = std::max(kernel_.local_align, StackDecoder::local_align(f));
        instructions += f.code.size();
    }
    // Most instructions are one operation.
    kernel_.code.reserve(instructions + instructions / 4);
    // The kernel's code begins with a jump to the first instruction.
    code_.emit(control.jump);
    kernel_.code[0].cost = 0;
    std::vector<DecodedFunction>& parts = functions_.parts();
    for (DecodedFunction& part : parts) function(part);
    code_.emit(control.exit);
    kernel_.code[0].target = static_cast<std::int32_t>(parts.back().start);
    calls_.resolve();
    control_.charge_branches();
    for (DecodedFunction& part : parts)
        kernel_.functions.push_back(
            {module.functions[part.function].name, part.start, std::move(part.registers)});
    symbols_.describe();
    const bool recursive = functions_.is_recursive();
    kernel_.loops |= recursive;
    kernel_.frame_bytes = parts.back().deepest;
    kernel_.stack_bytes = static_cast<std::uint32_t>(
        rounded(parts.back().deepest + (recursive ? recursion_bytes : 0), kernel_.local_align));
    // alloca's memory begins above the frames.
    kernel_.local_top = kernel_.stack_bytes;
    if (registers_.has(Hidden::local_top)) kernel_.stack_bytes += alloca_bytes;
    kernel_.call_depth = parts.size() == 1 ? 0
                         : recursive       ? recursion_depth
                                           : static_cast<std::uint32_t>(parts.size());
    kernel_.file_bytes = static_cast<std::uint32_t>(rounded(registers_.bytes(), 64));
    kernel_.origins = shared_.handlers.origins();
    kernel_.register_count = estimate_registers(module, functions_.list(), kernel_.threads_limit);
}

void KernelDecoder::describe(const ptx::Function& f) {
    kernel_.name_ = f.name;
    kernel_.version = shared_.module.version;
    kernel_.sm = shared_.module.target.number;
    kernel_.constants_bytes = shared_.placement.constant_bytes;
    kernel_.constant_ranges = shared_.placement.constant_ranges;
    for (const std::uint32_t n : f.formals) {
        const ptx::Variable& v = f.frame[n];
        kernel_.parameters_.push_back(
            {static_cast<std::uint32_t>(v.offset), static_cast<std::uint32_t>(v.size), v.align});
        kernel_.parameter_bytes = static_cast<std::uint32_t>(v.offset + v.size);
    }
    const bool required = f.required_threads[0] != 0;
    const auto& limit = required ? f.required_threads : f.max_threads;
    if (limit[0] != 0) {
        const std::uint64_t product = std::uint64_t{limit[0]} * limit[1];
        if (product > 1024 || product * limit[2] > 1024)
            code_.fail(f.line,
                       "kernel '" + f.name + "' requires more than 1024 threads in a block");
        kernel_.threads_limit = static_cast<std::uint32_t>(product * limit[2]);
    }
    if (required) kernel_.required = {limit[0], limit[1], limit[2]};
    kernel_.cluster = {f.required_cluster[0], f.required_cluster[1], f.required_cluster[2]};
    kernel_.cluster_limit = f.max_cluster_rank;
    kernel_.cluster_explicit = f.explicit_cluster;
}

void KernelDecoder::function(DecodedFunction& part) {
    functions_.begin(part);
    const ptx::Function& f = functions_.current();
    if (!f.entry && StackDecoder::allocates(f)) {
        if (part.save != 0) code_.fail(f.line, "alloca in a recursive function is not supported");
        part.top = registers_.allocate(4);
        code_.emit("mov.u32", part.top, registers_.special(Hidden::local_top, 4));
    }
    if (shared_.counters) kernel_.counters.add_function(part.function);
    const std::vector<BasicBlock> list = control_.begin();
    const std::vector<std::uint32_t> laid = order(list);
    kernel_.loops |= has_loop(list, laid);
    part.block_start.assign(list.size(), ptx::absent);
    for (std::size_t n = 0; n < laid.size(); ++n) {
        const BasicBlock& block = list[laid[n]];
        part.block_start[laid[n]] = code_.size();
        for (std::uint32_t i = block.first; i < block.end; ++i) {
            if (shared_.counters) count(i);
            instructions_.decode(f.code[i]);
        }
        const std::uint32_t next = n + 1 < laid.size() ? laid[n + 1] : ptx::absent;
        // The last instruction falls through to the next block, which may be elsewhere in the code.
        const bool falls = block.first == block.end || !ends_block(f.code[block.end - 1]) ||
                           f.code[block.end - 1].guard != ptx::absent;
        if (!falls) continue;
        if (block.end == f.code.size()) {
            control_.leave();
            continue;
        }
        const std::uint32_t to = control_.block_of(block.end);
        if (to != next)
            control_.jump(to);
        else if (list[to].predecessors > 1)
            code_.emit(control.join);
    }
    control_.end();
}

// Emits the counters before an instruction.
void KernelDecoder::count(std::uint32_t i) {
    const auto [first, last] = shared_.counters->before(functions_.part().function, i);
    code_.set_line(functions_.current().code[i].line);
    for (const observe::Counter* each = first; each != last; ++each) {
        const std::int64_t word = kernel_.counters.parts.back().word + each->word;
        const ptx::Instruction& at = functions_.current().code[i];
        switch (each->kind) {
            case observe::Counter::Kind::lines:
                code_.emit(control.count_lines).imm = word;
                break;
            case observe::Counter::Kind::branch: {
                DecodedOp& c = code_.emit(control.count_branch, operands_.reg(at.guard));
                c.imm = word;
                if (at.guard_negated) c.flags |= flag::negate;
                break;
            }
            case observe::Counter::Kind::table: {
                const std::int32_t index = operands_.source(functions_.operand(at, 0), Type::b32);
                DecodedOp& c = code_.emit(control.count_table, index);
                c.imm = word;
                c.slot = static_cast<std::uint32_t>(each->sides.size());
                break;
            }
        }
    }
}

}  // namespace

std::unique_ptr<KernelCode> decode(const DecodedModule& module, std::uint32_t entry) {
    auto kernel = std::make_unique<KernelCode>();
    KernelDecoder(module, entry, *kernel).decode();
    return kernel;
}

}  // namespace cupola::cpu::interpreter
