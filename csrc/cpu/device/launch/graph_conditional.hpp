// csrc/cpu/device/launch/graph_conditional.hpp - conditions, and conditional nodes that run other
// graphs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "cpu/base/conditional.hpp"
#include "cpu/device/base/cuda.hpp"
#include "cpu/device/base/operation.hpp"

namespace cupola::cpu {

class Context;
class Graph;

class Conditional {
  public:
    // `assign`: each launch of the graph resets the value to `initial`.
    Conditional(std::shared_ptr<Context> context, unsigned initial, bool assign);
    ~Conditional();
    Conditional(const Conditional&) = delete;
    Conditional& operator=(const Conditional&) = delete;

    CUgraphConditionalHandle handle() const { return address_; }
    const std::shared_ptr<Context>& context() const { return context_; }
    unsigned value() const;
    void begin();  // at the beginning of a launch

    bool taken = false;  // used by a node; only one node may use it
    std::atomic<bool> instantiated{
        false};  // one executable graph uses the handle at a time, as cuda.h requires

  private:
    ConditionalWord& word() const { return *reinterpret_cast<ConditionalWord*>(address_); }

    const std::shared_ptr<Context> context_;
    const unsigned initial_;
    const bool assign_;
    std::uintptr_t address_ = 0;
};

struct ConditionalNode {
    std::shared_ptr<Conditional> condition;
    CUgraphConditionalNodeType kind = CU_GRAPH_COND_TYPE_IF;
    std::vector<std::shared_ptr<Graph>> bodies;
    std::shared_ptr<std::vector<CUgraph>> handles;  // the bodies' handles, for the program
};

// The work of a graph's nodes in order; a body may run many times.
using Steps = std::vector<std::function<void()>>;

// `bodies` are the node's bodies.
std::unique_ptr<Operation> conditional_operation(const ConditionalNode& node,
                                                 std::vector<Steps> bodies);

}  // namespace cupola::cpu
