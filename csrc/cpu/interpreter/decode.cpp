// csrc/cpu/interpreter/decode.cpp - decodes a kernel and its callees into one piece of code.
//
// Each function has its own registers in the kernel's register file, so a call copies none. Only a
// recursive call saves registers, to the thread's local memory.
#include "cpu/interpreter/decode.hpp"

#include <algorithm>
#include <utility>

#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/decoded_origin.hpp"
#include "ptx/error.hpp"
#include "ptx/lexer.hpp"
#include "ptx/match.hpp"

namespace cupola::cpu::interpreter {
namespace {

constexpr std::uint32_t trash_bytes = lanes * 16;  // offset 0: never read

std::uint32_t rounded_size(std::uint64_t n, std::uint32_t to) {
    return static_cast<std::uint32_t>(rounded(n, to));
}

}  // namespace

BoundHandler HandlerCache::find(ptx::FormId form, const Key& key) {
    const auto types = static_cast<std::uint32_t>(form.value) << 16 |
                       static_cast<std::uint32_t>(key.type) << 8 |
                       static_cast<std::uint32_t>(key.type2);
    const auto [at, fresh] = known_[types].emplace(key.modifiers, BoundHandler());
    if (fresh) {
        Origin origin{form, key};
        at->second.run = find_handler(origin);
        origins_.push_back(origin);
        at->second.origin = static_cast<std::uint32_t>(origins_.size());
    }
    return at->second;
}

BoundHandler HandlerCache::find(std::string_view opcode) {
    const auto at = spelled_.find(opcode);
    if (at != spelled_.end()) return at->second;
    const ptx::Candidate c = ptx::match(opcode).at(0);
    return spelled_[std::string(opcode)] = find(c.form, Key{c.type, c.type2, c.modifiers});
}

Decoder::Decoder(const ptx::Module& module, std::string_view source, const Placement& placement,
                 const CallGraph& graph, HandlerCache& handlers,
                 std::shared_ptr<observe::ModuleCounters> counters)
    : module_(module),
      source_(source),
      placement_(placement),
      graph_(graph),
      handlers_(handlers),
      counters_(std::move(counters)) {}

void Decoder::fail(std::uint32_t line, const std::string& what, bool unresolved) const {
    using Kind = ptx::Error::Kind;
    throw ptx::Error(unresolved ? Kind::unresolved_extern : Kind::invalid, line,
                     std::string(ptx::line_text(source_, line)), what);
}

std::unique_ptr<KernelCode> Decoder::decode(std::uint32_t entry) {
    auto kernel = std::make_unique<KernelCode>();
    kernel_ = kernel.get();
    if (counters_) kernel_->counters.module = counters_;
    file_ = trash_bytes;
    describe(module_.functions[entry]);
    const std::vector<std::uint32_t> functions = graph_.reachable(entry);
    place_shared(functions);
    carry_ = allocate_predicate();
    kernel_->stack_pointer = special(static_cast<unsigned>(Hidden::stack_pointer), 4);
    part_of_.assign(module_.functions.size(), ptx::absent);
    parts_.resize(functions.size());
    bool recursive = false;
    for (std::uint32_t n = 0; n < functions.size(); ++n) {
        part_of_[functions[n]] = n;
        parts_[n].function = functions[n];
        recursive |= graph_.in_cycle(functions[n], functions[n]);
    }
    for (const std::uint32_t n : functions)
        kernel_->local_align = std::max(kernel_->local_align, local_align(module_.functions[n]));
    // The code begins with a jump to the kernel's first instruction.
    emit(control.jump);
    kernel_->code[0].cost = 0;
    for (Part& part : parts_) function(part);
    emit(control.exit);
    kernel_->code[0].target = static_cast<std::int32_t>(parts_.back().start);
    for (const auto& [code, callee] : call_fixups_)
        kernel_->code[code].target = static_cast<std::int32_t>(parts_[part_of_[callee]].start) -
                                     static_cast<std::int32_t>(code);
    for (CallSite& site : kernel_->calls)
        for (auto& [address, to] : site.targets) to = parts_[part_of_[to]].start;
    charge_branches();
    describe_parts();
    kernel_->frame_bytes = parts_.back().deepest;
    kernel_->stack_bytes = rounded_size(parts_.back().deepest + (recursive ? recursion_bytes : 0),
                                        kernel_->local_align);
    // alloca's memory begins above the frames.
    kernel_->local_top = kernel_->stack_bytes;
    if (specials_.count(static_cast<unsigned>(Hidden::local_top)) != 0)
        kernel_->stack_bytes += alloca_bytes;
    kernel_->call_depth = functions.size() == 1 ? 0
                          : recursive           ? recursion_depth
                                                : static_cast<std::uint32_t>(functions.size());
    kernel_->file_bytes = rounded_size(file_, 64);
    kernel_->origins = handlers_.origins();
    kernel_->register_count =
        std::min(pressure(functions), register_limit(module_.functions[entry]));
    return kernel;
}

void Decoder::describe(const ptx::Function& f) {
    kernel_->name_ = f.name;
    kernel_->version = module_.version;
    kernel_->sm = module_.target;
    kernel_->constants_bytes = placement_.constant_bytes;
    kernel_->constant_ranges = placement_.constant_ranges;
    for (const std::uint32_t n : f.formals) {
        const ptx::Variable& v = f.frame[n];
        kernel_->parameters_.push_back(
            {static_cast<std::uint32_t>(v.offset), static_cast<std::uint32_t>(v.size), v.align});
        kernel_->parameter_bytes = static_cast<std::uint32_t>(v.offset + v.size);
    }
    const bool required = f.required_threads[0] != 0;
    const auto& limit = required ? f.required_threads : f.max_threads;
    if (limit[0] != 0) {
        const std::uint64_t product = std::uint64_t{limit[0]} * limit[1];
        if (product > 1024 || product * limit[2] > 1024)
            fail(f.line, "kernel '" + f.name + "' requires more than 1024 threads in a block");
        kernel_->threads_limit = static_cast<std::uint32_t>(product * limit[2]);
    }
    if (required) kernel_->required = {limit[0], limit[1], limit[2]};
    kernel_->cluster = {f.required_cluster[0], f.required_cluster[1], f.required_cluster[2]};
    kernel_->cluster_limit = f.max_cluster_rank;
    kernel_->cluster_explicit = f.explicit_cluster;
}

void Decoder::describe_parts() {
    for (Part& part : parts_)
        kernel_->functions.push_back(
            {module_.functions[part.function].name, part.start, std::move(part.registers)});
    for (const std::uint32_t n : named_variables_) {
        const ptx::Variable& v = module_.variables[n];
        const bool shared = v.space == ptx::Space::shared;
        kernel_->variables.push_back(
            {v.name, shared, shared ? shared_at_[n] : placement_.addresses[n], v.size});
    }
}

// Static shared memory: variables of the kernel and its callees, then the extern variable.
void Decoder::place_shared(const std::vector<std::uint32_t>& functions) {
    std::vector<std::uint32_t> open;
    std::uint64_t at = 0;
    for (const std::uint32_t n : functions)
        for (const ptx::Operand& o : module_.functions[n].operands) {
            const bool names =
                o.kind == ptx::Operand::Kind::variable ||
                (o.kind == ptx::Operand::Kind::memory && o.base == ptx::Operand::Kind::variable);
            if (names) named_variables_.insert(o.index);
            if (!names || module_.variables[o.index].space != ptx::Space::shared ||
                !shared_at_.emplace(o.index, 0).second)
                continue;
            const ptx::Variable& v = module_.variables[o.index];
            kernel_->shared_align = std::max(kernel_->shared_align, v.align);
            if (v.external || v.unsized) {
                open.push_back(o.index);
                continue;
            }
            at = rounded_size(at, v.align);
            shared_at_[o.index] = at;
            at += v.size;
        }
    if (at > 227 * 1024)
        fail(module_.functions[functions.back()].line, "more than 227 KiB of static shared memory");
    kernel_->shared_bytes = static_cast<std::uint32_t>(at);
    for (const std::uint32_t n : open) shared_at_[n] = rounded_size(at, kernel_->shared_align);
}

void Decoder::function(Part& part) {
    part_ = &part;
    f_ = &module_.functions[part.function];
    part.registers.assign(f_->registers.size(), 0);
    part.frame = rounded_size(f_->frame_bytes, kernel_->local_align);
    if (graph_.in_cycle(part.function, part.function)) {
        for (const ptx::Type type : f_->registers)
            part.save += type == ptx::Type::pred ? 1 : ptx::bytes_of(type);
        part.save = rounded_size(part.save, kernel_->local_align);
    }
    part.deepest = part.frame + part.save;
    std::uint32_t above = 0;
    for (const auto& c : f_->calls)
        for (const std::uint32_t callee : graph_.callees(*f_, c))
            if (part_of_[callee] < static_cast<std::uint32_t>(part_ - parts_.data()))
                above = std::max(above, parts_[part_of_[callee]].deepest);
    part.deepest += above;
    if (part.deepest > 1024 * 1024)
        fail(f_->line, "more than 1 MiB of local memory for each thread");

    part.start = static_cast<std::uint32_t>(kernel_->code.size());
    if (!f_->entry && allocates(*f_)) {
        if (part.save != 0) fail(f_->line, "alloca in a recursive function is not supported");
        part.top = allocate(4);
        emit("mov.u32", part.top, special(static_cast<unsigned>(Hidden::local_top), 4));
    }
    if (counters_) kernel_->counters.add_function(part.function);
    fixups_.clear();
    table_fixups_.clear();
    const std::vector<BasicBlock> list = basic_blocks(*f_, block_of_);
    const std::vector<std::uint32_t> laid = order(list);
    part.block_start.assign(list.size(), ptx::absent);
    for (std::size_t n = 0; n < laid.size(); ++n) {
        const BasicBlock& block = list[laid[n]];
        part.block_start[laid[n]] = static_cast<std::uint32_t>(kernel_->code.size());
        for (std::uint32_t i = block.first; i < block.end; ++i) {
            if (counters_) count(i);
            instruction(f_->code[i]);
        }
        const std::uint32_t next = n + 1 < laid.size() ? laid[n + 1] : ptx::absent;
        // The last instruction falls through to the next block, which may be elsewhere in the code.
        const bool falls = block.first == block.end || !ends_block(f_->code[block.end - 1]) ||
                           f_->code[block.end - 1].guard != ptx::absent;
        if (!falls) continue;
        if (block.end == f_->code.size()) {
            leave();
            continue;
        }
        const std::uint32_t to = block_of_[block.end];
        if (to == next) {
            if (list[to].predecessors > 1) emit(control.join);
            continue;
        }
        emit(control.jump);
        fixups_.push_back({static_cast<std::uint32_t>(kernel_->code.size() - 1), to});
    }
    fix_branches(part);
}

// Emits the counters before an instruction.
void Decoder::count(std::uint32_t i) {
    const auto [first, last] = counters_->before(part_->function, i);
    line_ = f_->code[i].line;
    for (const observe::Counter* each = first; each != last; ++each) {
        const std::int64_t word = kernel_->counters.parts.back().word + each->word;
        const ptx::Instruction& at = f_->code[i];
        switch (each->kind) {
            case observe::Counter::Kind::lines:
                emit(control.count_lines).imm = word;
                break;
            case observe::Counter::Kind::branch: {
                DecodedOp& c = emit(control.count_branch, reg(at.guard));
                c.imm = word;
                if (at.guard_negated) c.flags |= flag::negate;
                break;
            }
            case observe::Counter::Kind::table: {
                const std::int32_t index = source(operand(at, 0), Type::b32);
                DecodedOp& c = emit(control.count_table, index);
                c.imm = word;
                c.slot = static_cast<std::uint32_t>(each->sides.size());
                break;
            }
        }
    }
}

// The end of a function frees its alloca memory.
void Decoder::leave() {
    if (part_->top != 0)
        emit("mov.u32", special(static_cast<unsigned>(Hidden::local_top), 4), part_->top);
    emit(f_->entry ? control.exit : control.ret);
}

void Decoder::fix_branches(const Part& part) {
    for (const Fixup& fix : fixups_)
        kernel_->code[fix.code].target = static_cast<std::int32_t>(part.block_start[fix.block]) -
                                         static_cast<std::int32_t>(fix.code);
    for (const TableFixup& fix : table_fixups_) {
        auto& table = kernel_->tables[fix.table];
        for (const std::uint32_t block : fix.blocks)
            table.push_back(static_cast<std::int32_t>(part.block_start[block]) -
                            static_cast<std::int32_t>(fix.code));
    }
}

// A loop with strong accesses may wait for other lanes or warps: it gets short time slices.
void Decoder::charge_branches() {
    auto& code = kernel_->code;
    std::vector<std::uint32_t> watching(code.size() + 1);
    for (std::size_t n = 0; n < code.size(); ++n)
        watching[n + 1] = watching[n] + ((code[n].flags & flag::strong) != 0);
    for (std::size_t n = 1; n < code.size(); ++n) {
        DecodedOp& c = code[n];
        if (c.pseudo == Pseudo::call || c.pseudo == Pseudo::call_indirect ||
            c.pseudo == Pseudo::branch_indexed)
            c.cost = 16;
        if (c.target > 0 || (c.pseudo != Pseudo::jump && c.pseudo != Pseudo::branch)) continue;
        const std::size_t from = n - static_cast<std::size_t>(-c.target);
        c.cost = watching[n] != watching[from] ? 128 : 1;
    }
}

}  // namespace cupola::cpu::interpreter
