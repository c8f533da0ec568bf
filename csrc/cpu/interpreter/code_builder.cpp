// csrc/cpu/interpreter/code_builder.cpp - appends operations, and reports errors with their line of
// the text.
#include "cpu/interpreter/code_builder.hpp"

#include "ptx/error.hpp"
#include "ptx/lexer.hpp"

namespace cupola::cpu::interpreter {

DecodedOp& CodeBuilder::emit(BoundHandler run) {
    DecodedOp code;
    run.bind(code);
    code.line = line_;
    kernel_.code.push_back(code);
    return kernel_.code.back();
}

DecodedOp& CodeBuilder::emit(BoundHandler run, std::int32_t d, std::int32_t a, std::int32_t b,
                             std::int32_t c) {
    DecodedOp& code = emit(run);
    code.op[0] = d;
    code.op[1] = a;
    code.op[2] = b;
    code.op[3] = c;
    return code;
}

std::uint32_t CodeBuilder::take_slots(std::uint32_t count) {
    const std::uint32_t first = kernel_.slots;
    kernel_.slots += count;
    return first;
}

void CodeBuilder::fail(std::uint32_t line, const std::string& what, bool unresolved) const {
    using Reason = ptx::Error::Kind;
    throw ptx::Error(unresolved ? Reason::unresolved_extern : Reason::invalid, line,
                     std::string(ptx::line_text(source_, line)), what);
}

}  // namespace cupola::cpu::interpreter
