// csrc/cpu/emitter/function_splitting.cpp - splits a large kernel into functions of consecutive
// basic blocks.
//
// A compiler's time for one function rises faster than its number of instructions, branches and
// live vectors. It would be minutes for a large kernel. So the kernel is split into parts, never
// through a loop that fits into one. Registers are variables within a part, and are in the register
// file between parts. Uniform values are in a frame that all parts share.
//
// A part that ends spills all registers that it writes. So while lanes wait, it first fills those
// that are not live at its entries too, because the spill must not change the waiting lanes'
// values.
#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {

constexpr std::uint32_t max_part_ops = 60;  // operations, unless one loop or one block has more

}  // namespace

std::uint32_t CppEmitter::op_count(Part part) const {
    return analysis_.blocks[part.last].end - analysis_.blocks[part.first].first;
}

// Groups the blocks in order, as many as fit into a part. Small loops are not split.
std::vector<CppEmitter::Part> CppEmitter::split_blocks() const {
    std::vector<Part> parts;
    for (std::uint32_t b = 0; b < analysis_.blocks.size(); ++b) {
        const Block& block = analysis_.blocks[b];
        Part piece = {b, block.is_loop_header ? block.loop_end : b};
        if (op_count(piece) > max_part_ops) piece.last = b;
        b = piece.last;
        if (!parts.empty() && op_count({parts.back().first, b}) <= max_part_ops)
            parts.back().last = b;
        else
            parts.push_back(piece);
    }
    return parts;
}

void CppEmitter::find_part_registers() {
    part_registers_.clear();
    part_writes_.clear();
    for (std::uint32_t n = analysis_.blocks[part_.first].first;
         n < analysis_.blocks[part_.last].end; ++n)
        for (const Access& access : analysis_.ops[n].accesses) {
            const Register* r = analysis_.at(access.offset);
            if (!r || !is_spilled(*r)) continue;
            part_registers_.insert(r->offset);
            if (access.write && r->live_across_blocks && !r->single_assignment)
                part_writes_.insert(r->offset);
        }
}

// Registers of the part that are live at one of these blocks.
std::set<std::int32_t> CppEmitter::live_at(const std::set<std::uint32_t>& blocks) const {
    std::set<std::int32_t> found;
    for (const std::int32_t offset : part_registers_) {
        const std::size_t n = analysis_.index_of(*analysis_.at(offset));
        for (const std::uint32_t b : blocks)
            if (analysis_.blocks[b].live[n]) found.insert(offset);
    }
    return found;
}

void CppEmitter::emit_part(std::size_t number, const std::set<std::uint32_t>& entries) {
    find_part_registers();
    const auto fill_each = [&](const std::set<std::int32_t>& offsets) {
        for (const std::int32_t offset : offsets) emit(fill(*analysis_.at(offset)));
    };
    emit("[[gnu::noinline]] " + part_signature(number) + " {");
    emit(
        "const DecodedOp* const code = s.code; const DecodedOp* next; std::uint32_t mask = "
        "w.mask;");
    emit("bool predict = false; std::uint32_t remaining = 0; (void)predict; (void)remaining;");
    find_reconvergence_points();
    emit("auto& last_address = f.last_address; (void)last_address;");
    for (const Register& r : analysis_.registers)
        if (is_in_frame(r) || part_registers_.count(r.offset) != 0) declare(r);
    const std::set<std::int32_t> needed = live_at(entries);
    fill_each(needed);
    std::set<std::int32_t> others = part_writes_;
    for (const std::int32_t offset : needed) others.erase(offset);
    emit("if (w.ready_count + w.waiting_count != 0) {");
    fill_each(others);
    emit("}");
    std::set<std::uint32_t> targets = entries;
    for (std::uint32_t b = part_.first; b <= part_.last; ++b)
        if (enclosing_loop(b) < 0) targets.insert(b);
    emit_dispatch(targets);
    for (std::uint32_t b = part_.first; b <= part_.last; ++b) {
        check_size();
        emit_block(b);
    }
    emit("O:");
    if (!points_.empty()) emit_enqueue_waiting();
    emit("next = reschedule(w, next, s);");
    emit("A:");
    emit_jump_to_next("dispatch");
    emit("leave: next = code + target;");
    emit("halted: leave_part:");
    for (const std::int32_t offset : part_writes_) emit(spill(*analysis_.at(offset)));
    emit("return next;");
    emit("next_warp: f.next_warp = true; return nullptr; }");
    end();
}

std::string CppEmitter::name_of_part(std::size_t number) const {
    return name_ + "_part_" + to_string(number);
}

std::string CppEmitter::part_signature(std::size_t number) const {
    return "const DecodedOp* " + name_of_part(number) +
           "(Warp& w, std::byte* r, const RuntimeCallbacks& s, " + name_ +
           "_frame& f, std::uint32_t target)";
}

// Declarations that the parts and the kernel share.
void CppEmitter::emit_frame(std::size_t count) {
    emit("struct " + name_ + "_frame {");
    for (const Register& r : analysis_.registers)
        if (is_in_frame(r)) emit(word_type(r.bytes ? r.bytes : 4) + " " + r.name() + ";");
    emit("bool next_warp = false; std::uint64_t last_address[" + prefetch_site_count() + "] = {};");
    if (analysis_.has_barrier_regions) emit("BarrierRegions regions;");
    text_ += frame_;
    emit("};");
    for (std::size_t k = 0; k < count; ++k) emit(part_signature(k) + ";");
    source_.common = in_namespace(text_);
    text_.clear();
}

void CppEmitter::emit_parts() {
    begin();
    const std::string head = std::move(text_);
    text_.clear();
    split_ = outlines_accesses_ = true;
    const std::vector<Part> parts = split_blocks();
    std::vector<std::size_t> part_of;
    std::vector<std::set<std::uint32_t>> entries;  // blocks that other parts branch to
    for (const Part& part : parts) {
        part_of.resize(part.last + 1, entries.size());
        entries.push_back({part.first});
    }
    for (std::uint32_t b = 0; b < analysis_.blocks.size(); ++b) {
        if (analysis_.blocks[b].entry) entries[part_of[b]].insert(b);
        for (const std::uint32_t to : analysis_.blocks[b].successors)
            if (part_of[to] != part_of[b]) entries[part_of[to]].insert(to);
    }
    for (std::size_t k = 0; k < parts.size(); ++k) {
        part_ = parts[k];
        emit_part(k, entries[k]);
    }
    emit_frame(parts.size());
    part_registers_.clear();
    text_ = head;
    emit(name_ + "_frame f;");
    emit("const DecodedOp* const code = s.code; const DecodedOp* next;");
    emit("auto target = static_cast<std::uint32_t>(ip - code);");
    define_uniforms(is_of_block);
    if (analysis_.has_barrier_regions)
        emit("BarrierRegions& regions = f.regions; regions.begin(w, target, s);");
    emit("for (Warp* each = &w;;) {");
    emit("Warp& w = *each; std::byte* const r = w.registers;");
    declare_variables();
    compute_uniforms(is_of_warp);
    emit_entry();
    emit("dispatch: switch (target) {");
    for (std::size_t k = 0; k < parts.size(); ++k) {
        for (const std::uint32_t b : entries[k])
            emit("case " + to_string(analysis_.blocks[b].first) + ":");
        emit("next = " + name_of_part(k) + "(w, r, s, f, target); break;");
    }
    emit("default: goto leave; }");
    emit("if (next && next != s.halt) {");
    emit("target = static_cast<std::uint32_t>(next - code); goto dispatch; }");
    emit("if (f.next_warp) { f.next_warp = false; goto next_warp; }");
    emit("goto halted;");
    emit_exit();
    text_ += "    }\n}\n";
    end();
}

}  // namespace cupola::cpu::compiler
