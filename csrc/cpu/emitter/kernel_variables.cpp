// csrc/cpu/emitter/kernel_variables.cpp - what a printed kernel holds: its variables, what of them
// is made once, and what a warp brings from the register file and leaves there.
#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {
constexpr std::uint32_t nobody = 0xffffffffu;
}  // namespace

void CppEmitter::declare(const Register& r) {
    if (r.uniform && parts_)
        line("auto& " + r.name() + " = f." + r.name() + ";");
    else if (r.uniform || r.bytes == 0)
        line(word_type(r.bytes ? r.bytes : 4) + " " + r.name() + ";");
    else
        line("Lanes<" + to_string(r.bytes) + "> " + r.name() + ";");
}

void CppEmitter::variables() {
    for (const Register& r : program_.registers) {
        if (r.file || r.constant || is_of_block(r) || (parts_ && !r.uniform)) continue;
        declare(r);
    }
}

// What has one value in all lanes, which lasts.
void CppEmitter::constants(Which which) {
    for (const Register& r : program_.registers) {
        if (r.file || !which(r)) continue;
        declare(r);
        if (r.index >= 0)
            line(r.name() + " = w.block->index_of_block[" + to_string(r.index) + "];");
    }
    declare_uniform(which);
}

void CppEmitter::declare_uniform(Which which) {
    for (const std::uint32_t n : program_.uniform) {
        const Register& r = program_.registers[n];
        if (r.special && which(r))
            line(r.bytes == 0 ? fill(r)
                              : "fill_one(" + r.name() + ", r, " + to_string(r.offset) + ");");
    }
    std::uint32_t done = nobody;
    for (const std::uint32_t n : program_.uniform) {
        const Register& r = program_.registers[n];
        if (r.special || !which(r) || r.definition == done) continue;
        done = r.definition;
        once(r.definition);
    }
}

// What a lane needs that goes on at a block's beginning, put into the register file or taken out.
std::string CppEmitter::alive(std::uint32_t b, const char* verb) const {
    std::string text;
    const bool put = std::string(verb) == "spill";
    for (std::uint32_t n = 0; n < program_.registers.size(); ++n) {
        const Register& r = program_.registers[n];
        if (program_.blocks[b].live[n] && is_moved(r) && is_here(r) &&
            !(r.single_assignment && put))
            text += (put ? spill(r) : fill(r)) + " ";
    }
    return text;
}

void CppEmitter::keep_constants() {
    for (const Register& r : program_.registers)
        if (r.uniform && !r.constant && !r.special && r.live_across_blocks)
            line(r.bytes == 0 ? spill(r)
                              : "spill_one(" + r.name() + ", r, " + to_string(r.offset) + ");");
}

void CppEmitter::enter() {
    line("if (at == 0) {");
    // What is read before it is written is what it was.
    line(alive(0, "fill"));
    // What is no variable is read from there, by instructions whose operands are not known, too.
    for (const auto& [which, offset] : program_.kernel.specials) {
        const int index = interpreter::index_dimension(which);
        const Register* r = program_.at(offset);
        if (index >= 0 && (!r || r->file))
            line("spill_one(w.block->index_of_block[" + to_string(index) + "], r, " +
                 to_string(offset) + ");");
    }
    if (program_.waits() || passes()) keep_constants();
    for (const std::uint32_t n : program_.hoisted) {
        line("{ const std::uint32_t mask = w.mask;");
        program_.steps[n].kind == Kind::lanes ? lanes(n) : logic(n);
        line("}");
    }
    if (parts_) return line("}");
    line("} else {");
    // Where nobody waits, what the running lanes need is all.
    line("if (w.ready_count + w.waiting_count == 0) switch (at) {");
    for (std::uint32_t b = 1; b < program_.blocks.size(); ++b) {
        check_size();
        if (program_.blocks[b].entry)
            line("case " + to_string(program_.blocks[b].first) + ": " + alive(b, "fill") +
                 "goto dispatch;");
    }
    line("default: break; }");
    for (const Register& r : program_.registers)
        if (r.live_across_blocks && is_moved(r)) line(fill(r));
    line("}");
}

void CppEmitter::leave() {
    line("leave: next = code + at;");
    line("goto keep;");
    line("halted: next = nullptr;");
    line("if (w.status == Status::done) goto turned;");
    line("if (w.status == Status::faulted) return nullptr;");
    line("keep:");
    for (const Register& r : program_.registers)
        if (!parts_ && r.live_across_blocks && is_moved(r) && !r.single_assignment) line(spill(r));
    if (!program_.waits() && !passes()) keep_constants();
    line("return next;");
    // The warp has ended, or waits for others of the block, and nothing of it is here.
    line("turned: each = following(each, s, at);");
    line("if (!each) return nullptr;");
}

}  // namespace cupola::cpu::compiler
