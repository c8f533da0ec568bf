// csrc/cpu/native/print_parts.cpp - a large kernel: each block is a function of its own.
//
// A compiler's time for one function of thousands of instructions, hundreds of ways and as many
// vectors alive in between rises faster than these: minutes. So registers are variables of blocks
// alone, between which they lie in the register file, where the interpreter has them, too; what
// has one value for all lanes is in a frame that all blocks see. Loops of several short blocks pay
// for that, so smaller kernels are one function. Of rounds ahead (print_rounds.cpp) a large kernel
// knows nothing: they are for short loops.
#include "cpu/native/print.hpp"

namespace cupola::cpu::native {

using std::to_string;

// The registers that block b has variables for, in their order.
std::set<const Register*> Printer::accessed(std::uint32_t b) const {
    std::set<const Register*> found;
    const Block& block = program_.blocks[b];
    for (std::uint32_t n = block.first; n < block.end; ++n)
        for (const Access& access : program_.steps[n].accesses)
            if (const Register* r = program_.at(access.offset); r && is_moved(*r)) found.insert(r);
    return found;
}

// Where block b begins: its variables, and what it reads of others.
void Printer::fetch(std::uint32_t b) {
    if (!parts_) return;
    changed_.clear();
    for (const Register* r : accessed(b)) {
        declare(*r);
        if (is_resident(*r) && program_.blocks[b].live[program_.number_of(*r)])
            line("fill(" + r->name() + ", r, " + to_string(r->offset) + ");");
    }
}

// What it writes without having read it keeps the values of lanes that are elsewhere.
void Printer::fetch_written(std::uint32_t b) {
    if (!parts_) return;
    for (const Register* r : accessed(b))
        if (is_resident(*r) && !program_.blocks[b].live[program_.number_of(*r)])
            line("fill(" + r->name() + ", r, " + to_string(r->offset) + ");");
}

// Before others see the register file.
void Printer::put_back() {
    for (const std::int32_t offset : changed_)
        line("spill(" + program_.at(offset)->name() + ", r, " + to_string(offset) + ");");
}

// Says where the running lanes go on; nullptr or the place of halt where they do not.
void Printer::part(std::uint32_t b) {
    line("[[gnu::noinline]] static const Code* part_" + to_string(b) +
         "(Warp& w, std::byte* r, const Services& s, Frame& f) {");
    line("const Code* const code = s.code; const Code* next; std::uint32_t mask;");
    line("auto& before = f.before; (void)before;");
    for (const Register& r : program_.registers)
        if (is_framed(r)) declare(r);
    body(b);
    line("turned: f.turned = true; return nullptr; }");
}

void Printer::in_parts() {
    parts_ = true;
    line("struct Frame {");
    for (const Register& r : program_.registers)
        if (is_framed(r)) line(word_type(r.bytes ? r.bytes : 4) + " " + r.name() + ";");
    line("bool turned; std::uint64_t before[" + accesses() + "]; };");
    line("struct Parts {");
    for (std::uint32_t b = 0; b < program_.blocks.size(); ++b) {
        check_size(text_);
        part(b);
    }
    line("};");
    line("Frame f = {};");
    line("const Code* const code = s.code; const Code* next;");
    line("auto at = static_cast<std::uint32_t>(ip - code);");
    constants_of_block();
    line("for (Warp* each = &w;;) {");
    line("Warp& w = *each; std::byte* const r = w.registers;");
    variables();
    same(true);
    enter();
    line("dispatch: switch (at) {");
    for (std::uint32_t b = 0; b < program_.blocks.size(); ++b)
        line("case " + to_string(program_.blocks[b].first) + ": next = Parts::part_" +
             to_string(b) + "(w, r, s, f); break;");
    line("default: goto leave; }");
    line("if (next && next != s.halt) {");
    line("at = static_cast<std::uint32_t>(next - code); goto dispatch; }");
    line("if (f.turned) { f.turned = false; goto turned; }");
    line("goto halted;");
    leave();
    text_ += "    }\n}\n";
}

}  // namespace cupola::cpu::native
