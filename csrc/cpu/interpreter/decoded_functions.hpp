// csrc/cpu/interpreter/decoded_functions.hpp - the functions of the kernel that is decoded, and
// their parts of its code.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/interpreter/call_graph.hpp"
#include "cpu/interpreter/code_builder.hpp"

namespace cupola::cpu::interpreter {

struct DecodedFunction {
    std::uint32_t function = 0;  // index in the module
    std::uint32_t start = 0;     // index in the code
    // Offsets of the function's registers; 0: not allocated yet.
    std::vector<std::int32_t> registers;
    std::uint32_t frame = 0;    // bytes, rounded up
    std::uint32_t save = 0;     // bytes of registers saved around recursive calls
    std::uint32_t deepest = 0;  // bytes of its frame and its callees' frames
    // Register with the address where the function's alloca memory begins; 0: none.
    std::int32_t top = 0;
    std::vector<std::uint32_t> block_start;
};

class DecodedFunctions {
  public:
    // The kernel `entry` and the functions that it may call.
    DecodedFunctions(const ptx::Module& module, const CallGraph& graph, std::uint32_t entry,
                     CodeBuilder& code);

    const ptx::Module& module() const { return module_; }
    const CallGraph& graph() const { return graph_; }
    // Indices of functions, callees before callers.
    const std::vector<std::uint32_t>& list() const { return list_; }
    std::vector<DecodedFunction>& parts() { return parts_; }
    const DecodedFunction& part_of(std::uint32_t function) const {
        return parts_[part_of_[function]];
    }
    bool is_recursive() const { return recursive_; }

    // The function that is decoded now. `begin` computes its use of local memory.
    void begin(DecodedFunction& part);
    const ptx::Function& current() const { return *current_; }
    DecodedFunction& part() const { return *part_; }
    const ptx::Operand& operand(const ptx::Instruction& i, unsigned n) const {
        return current_->operands[i.operand + n];
    }
    // The n-th element of a vector, or the operand itself.
    const ptx::Operand& element(const ptx::Operand& o, unsigned n) const {
        return o.kind == Kind::vector ? current_->operands[o.index + n] : o;
    }
    // Whether a variable of the frame is a parameter of the kernel.
    bool is_formal(std::uint32_t variable) const {
        return current_->entry && variable < current_->formals.size();
    }

  private:
    const ptx::Module& module_;
    const CallGraph& graph_;
    CodeBuilder& code_;
    const std::vector<std::uint32_t> list_;
    std::vector<DecodedFunction> parts_;  // in the order of the list
    // By function; ptx::absent for a function that is not in the kernel.
    std::vector<std::uint32_t> part_of_;
    bool recursive_ = false;
    const ptx::Function* current_ = nullptr;
    DecodedFunction* part_ = nullptr;
};

}  // namespace cupola::cpu::interpreter
