// csrc/cpu/interpreter/call_graph.hpp - the calls between the functions of a module.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/program.hpp"

namespace cupola::cpu::interpreter {

// The functions that each function may call, directly or not; shared by the kernels of a module.
class CallGraph {
  public:
    explicit CallGraph(const ptx::Module& module);
    // Each function once, callees before callers; `entry` is the last.
    std::vector<std::uint32_t> reachable(std::uint32_t entry) const;
    // The defined functions that a call may reach.
    std::vector<std::uint32_t> callees(const ptx::Function& caller, const ptx::Call& call) const;
    bool in_cycle(std::uint32_t from, std::uint32_t to) const {
        return ring_[from] == ring_[to] && ringed_[from];
    }

  private:
    void find_rings();
    const ptx::Module& module_;
    std::vector<std::vector<std::uint32_t>> callees_;
    std::vector<std::uint32_t> ring_;  // strongly connected component of each function
    std::vector<bool> ringed_;         // component: whether it has a cycle
};

}  // namespace cupola::cpu::interpreter
