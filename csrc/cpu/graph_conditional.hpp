// csrc/cpu/graph_conditional.hpp - conditions of graphs, and nodes that run other graphs by them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "cpu/conditional.hpp"
#include "cpu/cuda.hpp"
#include "cpu/operation.hpp"

namespace cupola::cpu {

class Context;
class Graph;

class Conditional {
  public:
    // `assign`: each launch of the graph begins with the `initial` value.
    Conditional(std::shared_ptr<Context> context, unsigned initial, bool assign);
    ~Conditional();
    Conditional(const Conditional&) = delete;
    Conditional& operator=(const Conditional&) = delete;

    CUgraphConditionalHandle handle() const { return address_; }
    const std::shared_ptr<Context>& context() const { return context_; }
    unsigned value() const;
    void begin();  // of a launch

    bool taken = false;                     // by a node, which is the only one
    std::atomic<bool> instantiated{false};  // cuda.h: by one executable graph at a time

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
    std::shared_ptr<std::vector<CUgraph>> handles;  // of the bodies, as the program reads them
};

// The work of each of a graph's nodes, in their order: a body may run many times.
using Steps = std::vector<std::function<void()>>;

// `bodies` as the node has them.
std::unique_ptr<Operation> conditional_operation(const ConditionalNode& node,
                                                 std::vector<Steps> bodies);

}  // namespace cupola::cpu
