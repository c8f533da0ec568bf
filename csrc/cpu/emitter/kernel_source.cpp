// csrc/cpu/emitter/kernel_source.cpp - emits a decoded kernel as a C++ function, and a large one as
// functions of consecutive basic blocks.
//
// A compiler's time for one function rises faster than its number of instructions, branches and
// live vectors. It would be minutes for a large kernel. So the kernel is split into parts, never
// through a loop that fits into one. Registers are variables within a part, and are in the register
// file between parts. Uniform values are in a frame that all parts share.
//
// A part that ends spills all registers that it writes. So while lanes wait, it first fills those
// that are not live at its entries too, because the spill must not change the waiting lanes'
// values.
#include "cpu/emitter/kernel_source.hpp"

#include <utility>
#include <vector>

#include "cpu/emitter/basic_blocks.hpp"
#include "cpu/emitter/block_batch.hpp"
#include "cpu/emitter/kernel_variables.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {

// Operations of a part, unless one loop or one block has more.
constexpr std::uint32_t max_part_ops = 60;

// Basic blocks that become a function.
struct Range {
    std::uint32_t first, last;
};

std::uint32_t op_count(const KernelAnalysis& analysis, Range range) {
    return analysis.blocks[range.last].end - analysis.blocks[range.first].first;
}

// Groups the blocks in order, as many as fit into a part. Small loops are not split.
std::vector<Range> split_blocks(const KernelAnalysis& analysis) {
    std::vector<Range> parts;
    for (std::uint32_t b = 0; b < analysis.blocks.size(); ++b) {
        const Block& block = analysis.blocks[b];
        Range piece = {b, block.is_loop_header ? block.loop_end : b};
        if (op_count(analysis, piece) > max_part_ops) piece.last = b;
        b = piece.last;
        if (!parts.empty() && op_count(analysis, {parts.back().first, b}) <= max_part_ops)
            parts.back().last = b;
        else
            parts.push_back(piece);
    }
    return parts;
}

// For each part, the blocks that warps enter, or that other parts branch to.
std::vector<std::set<std::uint32_t>> entries_of(const KernelAnalysis& analysis,
                                                const std::vector<Range>& parts) {
    std::vector<std::size_t> part_of;
    std::vector<std::set<std::uint32_t>> entries;
    for (const Range& part : parts) {
        part_of.resize(part.last + 1, entries.size());
        entries.push_back({part.first});
    }
    for (std::uint32_t b = 0; b < analysis.blocks.size(); ++b) {
        if (analysis.blocks[b].entry) entries[part_of[b]].insert(b);
        for (const std::uint32_t to : analysis.blocks[b].successors)
            if (part_of[to] != part_of[b]) entries[part_of[to]].insert(to);
    }
    return entries;
}

bool is_in_frame(const Register& r) { return r.uniform && !r.constant && !r.in_file; }

std::string in_namespace(const std::string& text) {
    return "namespace cupola::cpu::CUPOLA_ISA {\n" + text + "}  // namespace\n";
}

class KernelEmitter {
  public:
    KernelEmitter(const KernelAnalysis& analysis, std::string name, Tier tier)
        : analysis_(analysis), name_(std::move(name)), tier_(tier) {}
    Source emit();

  private:
    void begin();
    void end() { source_.functions.push_back(in_namespace(out_.take())); }
    void emit_function();
    void emit_parts();
    void emit_part(std::size_t number, const std::set<std::uint32_t>& entries);
    void emit_frame(std::size_t count);
    std::set<std::int32_t> live_at(const std::set<std::uint32_t>& blocks) const;
    std::string name_of_part(std::size_t number) const;
    std::string part_signature(std::size_t number) const;
    std::string last_addresses() const;

    const KernelAnalysis& analysis_;
    const std::string name_;
    const Tier tier_;
    Source source_;
    // The constructor of each object uses the objects before it.
    CppText out_;
    FunctionPart part_{analysis_};
    Operands operands_{analysis_, out_};
    AddressChecks addresses_{analysis_, out_, operands_};
    LoopBatches loops_{analysis_, out_, operands_, part_, addresses_};
    ReconvergenceMasks masks_{analysis_, out_, part_};
    ControlFlow flow_{analysis_, out_, operands_, part_, loops_, masks_};
    HandlerCalls handlers_{analysis_, out_, operands_, masks_, flow_};
    Computations computations_{analysis_, out_, operands_, part_, addresses_};
    LaneLoops lane_loops_{analysis_, out_, operands_, part_, computations_};
    MemoryAccesses accesses_{analysis_, out_, operands_, part_, addresses_, flow_, handlers_};
    Statements statements_{analysis_,  out_,          operands_, part_,
                           addresses_, computations_, accesses_, handlers_};
    KernelVariables variables_{analysis_, out_, part_, computations_};
    BlockBatch block_batch_{analysis_,     out_,      operands_, addresses_,
                            computations_, accesses_, variables_};
    BasicBlocks blocks_{analysis_,   out_,  operands_, part_,       addresses_, loops_,
                        lane_loops_, flow_, accesses_, statements_, handlers_,  tier_};
};

void KernelEmitter::begin() {
    out_.append("extern \"C\" __attribute__((visibility(\"default\"))) const DecodedOp* " + name_ +
                "(const DecodedOp* ip, Warp& w, std::byte* r, const RuntimeCallbacks& s) {\n");
    block_batch_.emit();
}

// The addresses of the last prefetches, of an upper bound of the number of sites.
std::string KernelEmitter::last_addresses() const {
    std::uint32_t count = 1;
    for (const OpEffects& op : analysis_.ops)
        count += op.kind == Kind::load || op.kind == Kind::store ? 1 : 0;
    return "std::uint64_t last_address[" + to_string(count) + "] = {};";
}

void KernelEmitter::emit_function() {
    begin();
    out_.emit("const DecodedOp* const code = s.code; const DecodedOp* next;");
    out_.emit("auto target = static_cast<std::uint32_t>(ip - code);");
    variables_.define_uniforms(is_of_block);
    if (analysis_.has_barrier_regions)
        out_.emit("BarrierRegions regions; regions.begin(w, target, s);");
    out_.emit("bool predict = false; std::uint32_t remaining = 0; (void)predict; (void)remaining;");
    masks_.emit_points();
    const std::size_t frame = out_.size();
    out_.emit(last_addresses());
    out_.emit("for (Warp* each = &w;;) {");
    out_.emit("Warp& w = *each; std::byte* const r = w.registers; std::uint32_t mask = w.mask;");
    variables_.declare_all();
    variables_.compute_uniforms(is_of_warp);  // the values are valid for the life of the warp
    addresses_.emit_quotients();
    variables_.emit_entry();
    std::set<std::uint32_t> entries;
    for (std::uint32_t b = 0; b < analysis_.blocks.size(); ++b)
        if (analysis_.blocks[b].entry) entries.insert(b);
    flow_.emit_dispatch(entries);
    for (std::uint32_t b = 0; b < analysis_.blocks.size(); ++b) blocks_.emit(b);
    variables_.emit_exit();
    out_.append("    }\n}\n");
    out_.insert(frame, loops_.variables() + lane_loops_.variables());
    end();
}

std::string KernelEmitter::name_of_part(std::size_t number) const {
    return name_ + "_part_" + to_string(number);
}

std::string KernelEmitter::part_signature(std::size_t number) const {
    return "const DecodedOp* " + name_of_part(number) +
           "(Warp& w, std::byte* r, const RuntimeCallbacks& s, " + name_ +
           "_frame& f, std::uint32_t target)";
}

// Registers of the part that are live at one of these blocks.
std::set<std::int32_t> KernelEmitter::live_at(const std::set<std::uint32_t>& blocks) const {
    std::set<std::int32_t> found;
    for (const std::int32_t offset : part_.registers()) {
        const std::size_t n = analysis_.index_of(*analysis_.at(offset));
        for (const std::uint32_t b : blocks)
            if (analysis_.blocks[b].live[n]) found.insert(offset);
    }
    return found;
}

void KernelEmitter::emit_part(std::size_t number, const std::set<std::uint32_t>& entries) {
    const auto fill_each = [&](const std::set<std::int32_t>& offsets) {
        for (const std::int32_t offset : offsets) out_.emit(fill(*analysis_.at(offset)));
    };
    out_.emit("[[gnu::noinline]] " + part_signature(number) + " {");
    out_.emit(
        "const DecodedOp* const code = s.code; const DecodedOp* next; std::uint32_t mask = "
        "w.mask;");
    out_.emit("bool predict = false; std::uint32_t remaining = 0; (void)predict; (void)remaining;");
    masks_.emit_points();
    out_.emit("auto& last_address = f.last_address; (void)last_address;");
    for (const Register& r : analysis_.registers)
        if (is_in_frame(r) || part_.registers().count(r.offset) != 0) variables_.declare(r);
    const std::set<std::int32_t> needed = live_at(entries);
    fill_each(needed);
    std::set<std::int32_t> others = part_.writes();
    for (const std::int32_t offset : needed) others.erase(offset);
    out_.emit("if (w.ready_count + w.waiting_count != 0) {");
    fill_each(others);
    out_.emit("}");
    std::set<std::uint32_t> targets = entries;
    for (std::uint32_t b = part_.first(); b <= part_.last(); ++b)
        if (part_.enclosing_loop(b) < 0) targets.insert(b);
    flow_.emit_dispatch(targets);
    for (std::uint32_t b = part_.first(); b <= part_.last(); ++b) blocks_.emit(b);
    flow_.emit_shared_reschedule();
    out_.emit("leave: next = code + target;");
    out_.emit("halted: leave_part:");
    for (const std::int32_t offset : part_.writes()) out_.emit(spill(*analysis_.at(offset)));
    out_.emit("return next;");
    out_.emit("next_warp: f.next_warp = true; return nullptr; }");
    end();
}

// Declarations that the parts and the kernel share.
void KernelEmitter::emit_frame(std::size_t count) {
    out_.emit("struct " + name_ + "_frame {");
    for (const Register& r : analysis_.registers)
        if (is_in_frame(r)) out_.emit(word_type(r.bytes ? r.bytes : 4) + " " + r.name() + ";");
    out_.emit("bool next_warp = false; " + last_addresses());
    if (analysis_.has_barrier_regions) out_.emit("BarrierRegions regions;");
    out_.append(loops_.variables() + lane_loops_.variables());
    out_.emit("};");
    for (std::size_t k = 0; k < count; ++k) out_.emit(part_signature(k) + ";");
    source_.common = in_namespace(out_.take());
}

void KernelEmitter::emit_parts() {
    begin();
    const std::string head = out_.take();
    const std::vector<Range> parts = split_blocks(analysis_);
    const std::vector<std::set<std::uint32_t>> entries = entries_of(analysis_, parts);
    accesses_.set_outlines(true);
    for (std::size_t k = 0; k < parts.size(); ++k) {
        part_.select(parts[k].first, parts[k].last);
        emit_part(k, entries[k]);
    }
    emit_frame(parts.size());
    part_.select_caller();
    out_.append(head);
    out_.emit(name_ + "_frame f;");
    out_.emit("const DecodedOp* const code = s.code; const DecodedOp* next;");
    out_.emit("auto target = static_cast<std::uint32_t>(ip - code);");
    variables_.define_uniforms(is_of_block);
    if (analysis_.has_barrier_regions)
        out_.emit("BarrierRegions& regions = f.regions; regions.begin(w, target, s);");
    out_.emit("for (Warp* each = &w;;) {");
    out_.emit("Warp& w = *each; std::byte* const r = w.registers;");
    variables_.declare_all();
    variables_.compute_uniforms(is_of_warp);
    variables_.emit_entry();
    out_.emit("dispatch: switch (target) {");
    for (std::size_t k = 0; k < parts.size(); ++k) {
        for (const std::uint32_t b : entries[k])
            out_.emit("case " + to_string(analysis_.blocks[b].first) + ":");
        out_.emit("next = " + name_of_part(k) + "(w, r, s, f, target); break;");
    }
    out_.emit("default: goto leave; }");
    out_.emit("if (next && next != s.halt) {");
    out_.emit("target = static_cast<std::uint32_t>(next - code); goto dispatch; }");
    out_.emit("if (f.next_warp) { f.next_warp = false; goto next_warp; }");
    out_.emit("goto halted;");
    variables_.emit_exit();
    out_.append("    }\n}\n");
    end();
}

Source KernelEmitter::emit() {
    if (analysis_.is_large())
        emit_parts();
    else
        emit_function();
    return std::move(source_);
}

}  // namespace

std::string name_of_kernel(std::size_t n) { return "cupola_kernel_" + to_string(n); }

Source source_of(const KernelAnalysis& analysis, std::size_t n, Tier tier) {
    return KernelEmitter(analysis, name_of_kernel(n), tier).emit();
}

}  // namespace cupola::cpu::compiler
