// csrc/cpu/api/memory_operation.cpp - cu* entry points: stream memory operations, and graph nodes
// of them.
#include "cpu/device/stream/memory_operation.hpp"

#include "cpu/api/graph.hpp"
#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/stream/stream.hpp"

// cuda.h maps the plain name to the newest version.
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamWriteValue32
#undef cuStreamWriteValue64
#undef cuStreamBatchMemOp

using namespace cupola::cpu;

namespace {

constexpr unsigned max_operations = 256;  // operations in one call, as in NVIDIA's driver

CUresult put(CUstream handle, std::vector<CUstreamBatchMemOpParams> list) {
    const auto stream = stream_of(handle);
    MemoryOperations operations{std::move(list), stream->context_pointer()};
    check(operations);
    if (const auto capture = Capture::of(*stream))
        capture->add(*stream, std::move(operations));
    else
        stream->submit(memory_operation(operations));
    return CUDA_SUCCESS;
}

CUstreamBatchMemOpParams wait_for(CUstreamBatchMemOpType kind, CUdeviceptr address,
                                  cuuint64_t value, unsigned flags) {
    CUstreamBatchMemOpParams made{};
    made.waitValue.operation = kind;
    made.waitValue.address = address;
    made.waitValue.value64 = value;
    made.waitValue.flags = flags;
    return made;
}

CUstreamBatchMemOpParams written(CUstreamBatchMemOpType kind, CUdeviceptr address, cuuint64_t value,
                                 unsigned flags) {
    CUstreamBatchMemOpParams made{};
    made.writeValue.operation = kind;
    made.writeValue.address = address;
    made.writeValue.value64 = value;
    made.writeValue.flags = flags;
    return made;
}

MemoryOperations operations_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS* it) {
    require(it && (it->paramArray || it->count == 0) && it->count <= max_operations &&
            it->flags == 0);
    MemoryOperations made{{it->paramArray, it->paramArray + it->count},
                          context_or_current(it->ctx)};
    check(made);
    return made;
}

}  // namespace

CUPOLA_API CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                           unsigned int flags) {
    return entry([&] {
        return put(stream, {wait_for(CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags)});
    });
}
CUPOLA_API CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr address,
                                                cuuint32_t value, unsigned int flags) {
    return cuStreamWaitValue32_v2(Stream::per_thread(stream), address, value, flags);
}
CUPOLA_ALIAS(cuStreamWaitValue32, cuStreamWaitValue32_v2);
CUPOLA_ALIAS(cuStreamWaitValue32_ptsz, cuStreamWaitValue32_v2_ptsz);

CUPOLA_API CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                           unsigned int flags) {
    return entry([&] {
        return put(stream, {wait_for(CU_STREAM_MEM_OP_WAIT_VALUE_64, address, value, flags)});
    });
}
CUPOLA_API CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr address,
                                                cuuint64_t value, unsigned int flags) {
    return cuStreamWaitValue64_v2(Stream::per_thread(stream), address, value, flags);
}
CUPOLA_ALIAS(cuStreamWaitValue64, cuStreamWaitValue64_v2);
CUPOLA_ALIAS(cuStreamWaitValue64_ptsz, cuStreamWaitValue64_v2_ptsz);

CUPOLA_API CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value,
                                            unsigned int flags) {
    return entry([&] {
        return put(stream, {written(CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags)});
    });
}
CUPOLA_API CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr address,
                                                 cuuint32_t value, unsigned int flags) {
    return cuStreamWriteValue32_v2(Stream::per_thread(stream), address, value, flags);
}
CUPOLA_ALIAS(cuStreamWriteValue32, cuStreamWriteValue32_v2);
CUPOLA_ALIAS(cuStreamWriteValue32_ptsz, cuStreamWriteValue32_v2_ptsz);

CUPOLA_API CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value,
                                            unsigned int flags) {
    return entry([&] {
        return put(stream, {written(CU_STREAM_MEM_OP_WRITE_VALUE_64, address, value, flags)});
    });
}
CUPOLA_API CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address,
                                                 cuuint64_t value, unsigned int flags) {
    return cuStreamWriteValue64_v2(Stream::per_thread(stream), address, value, flags);
}
CUPOLA_ALIAS(cuStreamWriteValue64, cuStreamWriteValue64_v2);
CUPOLA_ALIAS(cuStreamWriteValue64_ptsz, cuStreamWriteValue64_v2_ptsz);

CUPOLA_API CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                          CUstreamBatchMemOpParams* list, unsigned int flags) {
    return entry([&] {
        require(flags == 0 && count <= max_operations && (list || count == 0));
        return put(stream, {list, list + count});
    });
}
CUPOLA_API CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int count,
                                               CUstreamBatchMemOpParams* list, unsigned int flags) {
    return cuStreamBatchMemOp_v2(Stream::per_thread(stream), count, list, flags);
}
CUPOLA_ALIAS(cuStreamBatchMemOp, cuStreamBatchMemOp_v2);
CUPOLA_ALIAS(cuStreamBatchMemOp_ptsz, cuStreamBatchMemOp_v2_ptsz);

// Graph nodes.

CUPOLA_API CUresult cuGraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph,
                                             const CUgraphNode* before, size_t count,
                                             const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
    return add_node(node, graph, before, count, [&](Graph&) { return operations_of(parameters); });
}

// The list of operations is valid until the node is changed.
CUPOLA_API CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode handle,
                                                   CUDA_BATCH_MEM_OP_NODE_PARAMS* out) {
    return locked([&] {
        require(out);
        const auto node = node_of(handle);
        auto& work = work_of<MemoryOperations>(*node);
        *out = {};
        out->ctx = work.context->handle();
        out->count = static_cast<unsigned>(work.list.size());
        out->paramArray = work.list.data();
    });
}

CUPOLA_API CUresult
cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
    return set_node<MemoryOperations>(node, [&] { return operations_of(parameters); });
}

CUPOLA_API CUresult cuGraphExecBatchMemOpNodeSetParams(
    CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* parameters) {
    return set_exec_node<MemoryOperations>(exec, node, [&] { return operations_of(parameters); });
}
