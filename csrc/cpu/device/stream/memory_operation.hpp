// csrc/cpu/device/stream/memory_operation.hpp - stream memory operations: writes of words, and
// waits for words.
#pragma once

#include <memory>
#include <vector>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/base/operation.hpp"

namespace cupola::cpu {

class Context;

// Several operations in order, as one piece of work or one graph node.
struct MemoryOperations {
    std::vector<CUstreamBatchMemOpParams> list;
    std::shared_ptr<Context> context;
};

// Throws INVALID_VALUE if an operation is invalid, NOT_SUPPORTED if this device lacks it.
void check(const MemoryOperations& operations);
std::unique_ptr<Operation> memory_operation(const MemoryOperations& operations);

}  // namespace cupola::cpu
