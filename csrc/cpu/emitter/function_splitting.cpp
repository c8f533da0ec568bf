// csrc/cpu/emitter/function_splitting.cpp - a large kernel: stretches of its blocks are functions.
//
// A compiler's time for one function of many instructions, hundreds of ways and as many vectors
// alive in between rises faster than these: minutes. So a large kernel is cut into parts, never
// through a loop that fits into one. Registers are variables of a part, and lie between parts in
// the register file, where the interpreter has them, too; what has one value for all lanes is in a
// frame that all parts see.
//
// Lanes may wait inside a part that others have left. So what the part has written of others' is
// put back as a whole where anybody waits; else what is needed where the running lanes go on.
#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {

constexpr std::uint32_t max_of_part = 60;  // Codes, of what is not one loop or one block

}  // namespace

std::uint32_t CppEmitter::codes(Part part) const {
    return program_.blocks[part.last].end - program_.blocks[part.first].first;
}

// Blocks in their order, as many as go into a part; small loops are not cut.
std::vector<CppEmitter::Part> CppEmitter::parts() const {
    std::vector<Part> parts;
    for (std::uint32_t b = 0; b < program_.blocks.size(); ++b) {
        const Block& block = program_.blocks[b];
        Part piece = {b, block.head ? block.loop_end : b};
        if (codes(piece) > max_of_part) piece.last = b;
        b = piece.last;
        if (!parts.empty() && codes({parts.back().first, b}) <= max_of_part)
            parts.back().last = b;
        else
            parts.push_back(piece);
    }
    return parts;
}

void CppEmitter::find_here() {
    here_.clear();
    changed_.clear();
    for (std::uint32_t n = program_.blocks[part_.first].first; n < program_.blocks[part_.last].end;
         ++n)
        for (const Access& access : program_.steps[n].accesses) {
            const Register* r = program_.at(access.offset);
            if (!r || !is_moved(*r)) continue;
            here_.insert(r->offset);
            if (access.write && r->live_across_blocks && !r->single_assignment)
                changed_.insert(r->offset);
        }
}

// Registers of the part that are alive at one of these blocks.
std::set<std::int32_t> CppEmitter::alive_at(const std::set<std::uint32_t>& blocks) const {
    std::set<std::int32_t> found;
    for (const std::int32_t offset : here_) {
        const std::size_t n = program_.number_of(*program_.at(offset));
        for (const std::uint32_t b : blocks)
            if (program_.blocks[b].live[n]) found.insert(offset);
    }
    return found;
}

void CppEmitter::part(std::size_t number, const std::set<std::uint32_t>& entries) {
    find_here();
    const auto fill_each = [&](const std::set<std::int32_t>& offsets) {
        for (const std::int32_t offset : offsets) line(fill(*program_.at(offset)));
    };
    line("[[gnu::noinline]] " + declared(number) + " {");
    line(
        "const DecodedOp* const code = s.code; const DecodedOp* next; std::uint32_t mask = "
        "w.mask;");
    line("bool ahead = false; std::uint32_t left = 0; (void)ahead; (void)left;");
    line("auto& before = f.before; (void)before;");
    for (const Register& r : program_.registers)
        if (is_framed(r) || here_.count(r.offset) != 0) declare(r);
    const std::set<std::int32_t> needed = alive_at(entries);
    fill_each(needed);
    std::set<std::int32_t> others = changed_;
    for (const std::int32_t offset : needed) others.erase(offset);
    line("if (w.ready_count + w.waiting_count != 0) {");
    fill_each(others);
    line("}");
    std::set<std::uint32_t> places = entries;
    for (std::uint32_t b = part_.first; b <= part_.last; ++b)
        if (loop_around(b) < 0) places.insert(b);
    ways(places);
    for (std::uint32_t b = part_.first; b <= part_.last; ++b) {
        check_size();
        block(b);
    }
    line("O: next = onward(w, next, s);");
    line("A:");
    elsewhere("dispatch");
    line("leave: next = code + at;");
    line("halted: gone:");
    for (const std::int32_t offset : changed_) line(spill(*program_.at(offset)));
    line("return next;");
    line("turned: f.turned = true; return nullptr; }");
    end();
}

std::string CppEmitter::name_of_part(std::size_t number) const {
    return name_ + "_part_" + to_string(number);
}

std::string CppEmitter::declared(std::size_t number) const {
    return "const DecodedOp* " + name_of_part(number) +
           "(Warp& w, std::byte* r, const RuntimeCallbacks& s, " + name_ +
           "_frame& f, std::uint32_t at)";
}

// What parts and the kernel know of each other.
void CppEmitter::declare_parts(std::size_t count) {
    line("struct " + name_ + "_frame {");
    for (const Register& r : program_.registers)
        if (is_framed(r)) line(word_type(r.bytes ? r.bytes : 4) + " " + r.name() + ";");
    line("bool turned = false; std::uint64_t before[" + accesses() + "] = {};");
    text_ += frame_;
    line("};");
    for (std::size_t k = 0; k < count; ++k) line(declared(k) + ";");
    source_.common = in_namespace(text_);
    text_.clear();
}

void CppEmitter::in_parts() {
    begin();
    const std::string head = std::move(text_);
    text_.clear();
    parts_ = true;
    const std::vector<Part> parts = this->parts();
    std::vector<std::size_t> part_of;
    std::vector<std::set<std::uint32_t>> entries;  // blocks that are come to from elsewhere
    for (const Part& part : parts) {
        part_of.resize(part.last + 1, entries.size());
        entries.push_back({part.first});
    }
    for (std::uint32_t b = 0; b < program_.blocks.size(); ++b) {
        if (program_.blocks[b].entry) entries[part_of[b]].insert(b);
        for (const std::uint32_t to : program_.blocks[b].successors)
            if (part_of[to] != part_of[b]) entries[part_of[to]].insert(to);
    }
    for (std::size_t k = 0; k < parts.size(); ++k) {
        part_ = parts[k];
        part(k, entries[k]);
    }
    declare_parts(parts.size());
    here_.clear();
    text_ = head;
    line(name_ + "_frame f;");
    line("const DecodedOp* const code = s.code; const DecodedOp* next;");
    line("auto at = static_cast<std::uint32_t>(ip - code);");
    constants(is_of_block);
    line("for (Warp* each = &w;;) {");
    line("Warp& w = *each; std::byte* const r = w.registers;");
    variables();
    declare_uniform(is_of_warp);
    enter();
    line("dispatch: switch (at) {");
    for (std::size_t k = 0; k < parts.size(); ++k) {
        for (const std::uint32_t b : entries[k])
            line("case " + to_string(program_.blocks[b].first) + ":");
        line("next = " + name_of_part(k) + "(w, r, s, f, at); break;");
    }
    line("default: goto leave; }");
    line("if (next && next != s.halt) {");
    line("at = static_cast<std::uint32_t>(next - code); goto dispatch; }");
    line("if (f.turned) { f.turned = false; goto turned; }");
    line("goto halted;");
    leave();
    text_ += "    }\n}\n";
    end();
}

}  // namespace cupola::cpu::compiler
