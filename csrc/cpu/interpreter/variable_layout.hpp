// csrc/cpu/interpreter/variable_layout.hpp - addresses of a module's variables and functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/interpreter/execute.hpp"
#include "ptx/program.hpp"

namespace cupola::cpu::interpreter {

// Owns blocks of memory, and frees them when it is destroyed.
class Blocks {
  public:
    explicit Blocks(Image::Memory memory) : memory_(std::move(memory)) {}
    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;
    ~Blocks() {
        for (void* p : held_) memory_.release(p);
    }
    void* allocate(std::size_t size, std::size_t align) {
        held_.reserve(held_.size() + 1);
        void* p = memory_.allocate(size, align);
        if (p) held_.push_back(p);
        return p;
    }

  private:
    Image::Memory memory_;
    std::vector<void*> held_;
};

// Host addresses of a module's .global and .const variables.
struct Placement {
    std::vector<std::uintptr_t> addresses;
    // addresses of functions whose address is taken, kernels included
    std::vector<std::uintptr_t> functions;
    std::uint32_t constant_bytes = 0;
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> constant_ranges;
};

class VariableLayout {
  public:
    explicit VariableLayout(Image::Memory memory) : blocks_(std::move(memory)) {}

    // Allocates all variables of a module; throws ptx::Error on failure. `every`: each function
    // gets an address, also if the module takes no address of the function.
    void lay_out_variables(const ptx::Module& module, std::string_view source, bool every = false);
    // Addresses for a module that begins with the placed one. Its further variables and functions
    // are allocated for it alone.
    Placement extended(const ptx::Module& module, std::string_view source);

    // The name of the kernel at an address; empty if no kernel has this address.
    std::string kernel_at(std::uint64_t address) const;

    const Placement& placement() const { return placement_; }
    const std::vector<Variable>& variables() const { return variables_; }
    const Variable* variable(std::string_view name) const;

  private:
    void place_variables(Placement& placement, const ptx::Module& module, std::string_view source);
    std::uintptr_t kernel_address(const std::string& name);
    void place_functions(const ptx::Module& module, bool every);
    static void relocate(const Placement& placement, const ptx::Module& module, std::size_t n,
                         std::string_view source);

    Blocks blocks_;
    Placement placement_;
    std::vector<Variable> variables_;
    std::map<std::string, std::uintptr_t> kernels_;  // kernels whose address is taken
};

}  // namespace cupola::cpu::interpreter
