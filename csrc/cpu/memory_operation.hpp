// csrc/cpu/memory_operation.hpp - words of memory that a stream writes, or waits for.
#pragma once

#include <memory>
#include <vector>

#include "cpu/cuda.hpp"
#include "cpu/operation.hpp"

namespace cupola::cpu {

class Context;

// Several in a row, as one piece of work in a stream or as a node of a graph.
struct MemoryOperations {
    std::vector<CUstreamBatchMemOpParams> list;
    std::shared_ptr<Context> context;
};

// INVALID_VALUE where there is something wrong with one of them, NOT_SUPPORTED for what this device
// cannot do.
void check(const MemoryOperations& operations);
std::unique_ptr<Operation> memory_operation(const MemoryOperations& operations);

}  // namespace cupola::cpu
