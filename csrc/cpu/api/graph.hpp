// csrc/cpu/api/graph.hpp - what entry points about graphs and their nodes have in common.
#pragma once

#include <memory>
#include <mutex>

#include "cpu/driver.hpp"
#include "cpu/graph.hpp"

namespace cupola::cpu {

inline std::shared_ptr<Node> node_of(CUgraphNode handle) {
    return Driver::get().nodes.get(handle, CUDA_ERROR_INVALID_VALUE);
}

// An entry point that looks at graphs, which have one lock.
template <class Body>
CUresult locked(Body&& body) {
    return entry([&] {
        std::lock_guard lock(Graph::mutex());
        body();
        return CUDA_SUCCESS;
    });
}

}  // namespace cupola::cpu
