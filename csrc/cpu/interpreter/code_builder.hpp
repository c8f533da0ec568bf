// csrc/cpu/interpreter/code_builder.hpp - the code of the kernel that is decoded, as it grows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cpu/interpreter/handler_cache.hpp"
#include "cpu/interpreter/kernel.hpp"

namespace cupola::cpu::interpreter {

// Names that most sources of the decoder use.
using Kind = ptx::Operand::Kind;
using ptx::Opcode;
using ptx::OperandConstraint;
using ptx::Type;
namespace field = ptx::field;

class CodeBuilder {
  public:
    // `source`: the PTX text, for messages.
    CodeBuilder(KernelCode& kernel, HandlerCache& handlers, std::string_view source)
        : kernel_(kernel), handlers_(handlers), source_(source) {}

    KernelCode& kernel() { return kernel_; }
    HandlerCache& handlers() { return handlers_; }

    // The line of the instruction that is decoded, which emitted operations get.
    std::uint32_t line() const { return line_; }
    void set_line(std::uint32_t line) { line_ = line; }

    // The number of operations so far, which is the index of the next one.
    std::uint32_t size() const { return static_cast<std::uint32_t>(kernel_.code.size()); }
    // Appends an operation. The reference is valid until the next call.
    DecodedOp& emit(BoundHandler run);
    DecodedOp& emit(BoundHandler run, std::int32_t d, std::int32_t a = 0, std::int32_t b = 0,
                    std::int32_t c = 0);
    DecodedOp& emit(std::string_view opcode, std::int32_t d, std::int32_t a = 0, std::int32_t b = 0,
                    std::int32_t c = 0) {
        return emit(handlers_.find(opcode), d, a, b, c);
    }
    // Appends an operation with the handler and the line that the operation has already.
    void append(const DecodedOp& code) { kernel_.code.push_back(code); }
    // The index of the first of `count` new cached ranges, for memory accesses.
    std::uint32_t take_slots(std::uint32_t count = 1);

    // `unresolved`: the text names a symbol that is not defined.
    [[noreturn]] void fail(std::uint32_t line, const std::string& what,
                           bool unresolved = false) const;

  private:
    KernelCode& kernel_;
    HandlerCache& handlers_;
    const std::string_view source_;
    std::uint32_t line_ = 0;
};

}  // namespace cupola::cpu::interpreter
