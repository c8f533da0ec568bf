// csrc/cpu/api/graph.hpp - helpers of the entry points for graphs and their nodes.
#pragma once

#include <memory>
#include <mutex>
#include <type_traits>
#include <vector>

#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/device_graph.hpp"
#include "cpu/device/launch/graph.hpp"

namespace cupola::cpu {

inline std::shared_ptr<Node> node_of(CUgraphNode handle) {
    return Driver::get().nodes.get(handle, CUDA_ERROR_INVALID_VALUE);
}

// An entry point that holds the lock of all graphs.
template <class Body>
CUresult locked(Body&& body) {
    return entry([&] {
        std::lock_guard lock(Driver::get().graph_mutex);
        body();
        return CUDA_SUCCESS;
    });
}

// Edges have no properties here: a node waits for another to complete. Ports and programmatic edges
// start at kernel nodes.
inline void check_edge(const CUgraphEdgeData& edge, const Node& from) {
    if (edge.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT && !edge.from_port && !edge.to_port) return;
    require(edge.type <= CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
            from.type() == CU_GRAPH_NODE_TYPE_KERNEL);
    fail(CUDA_ERROR_NOT_SUPPORTED);
}

// Nodes: `make` returns the work, given the node's current work.

template <class T>
T& work_of(Node& node) {
    auto* work = std::get_if<T>(&node.work);
    require(work != nullptr);
    return *work;
}

template <class Make>
CUresult add_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                  Make&& make) {
    return locked([&] {
        require(out && (before || count == 0));
        const auto to = Driver::get().graphs.get(graph, CUDA_ERROR_INVALID_VALUE);
        std::vector<Node*> after;
        for (size_t i = 0; i < count; ++i) after.push_back(node_of(before[i]).get());
        *out = to->add(make(*to), after).handle();
    });
}

template <class T, class Make>
CUresult set_node(CUgraphNode handle, Make&& make) {
    return locked([&] {
        const auto node = node_of(handle);
        T& work = work_of<T>(*node);
        if constexpr (std::is_invocable_v<Make, const T*>)
            work = make(&work);
        else
            work = make();
    });
}

template <class T, class Make>
CUresult set_exec_node(CUgraphExec handle, CUgraphNode node, Make&& make) {
    return entry([&] {
        const auto exec = Driver::get().graph_execs.get(handle, CUDA_ERROR_INVALID_VALUE);
        std::lock_guard lock(exec->mutex);
        Node& mine = exec->node(node, type_of(Work{T{}}));
        Work made;
        if constexpr (std::is_invocable_v<Make, const T*>)
            made = make(&std::get<T>(mine.work));
        else
            made = make();
        require(!exec->device() || device_graph_takes(Driver::get().memory, made),
                CUDA_ERROR_NOT_SUPPORTED);
        mine.work = std::move(made);
        return CUDA_SUCCESS;
    });
}

}  // namespace cupola::cpu
