// nvcc: -rdc=true -lcudadevrt
//
// Conditional nodes of which kernels set the condition. Prints "ok", or the check that failed.
#include <cstdio>
#include <cstdlib>

#include "check.cuh"

__global__ void choose(cudaGraphConditionalHandle handle, const unsigned* value) {
    cudaGraphSetConditional(handle, *value);
}
__global__ void count_down(cudaGraphConditionalHandle handle, int* left, int* rounds) {
    ++*rounds;
    cudaGraphSetConditional(handle, --*left > 0);
}
__global__ void note(int* place) { ++*place; }

cudaGraphNode_t add(cudaGraph_t graph, cudaGraphNodeParams& params,
                    cudaGraphNode_t* after = nullptr) {
    cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
    CUDA(cudaGraphAddNode(&node, graph, after, nullptr, after ? 1 : 0, &params));
#else
    CUDA(cudaGraphAddNode(&node, graph, after, after ? 1 : 0, &params));
#endif
    return node;
}

template <class... Arguments>
cudaGraphNode_t add_kernel(cudaGraph_t graph, void (*kernel)(Arguments...),
                           Arguments... arguments) {
    void* pointers[] = {&arguments...};
    cudaGraphNodeParams params = {cudaGraphNodeTypeKernel};
    params.kernel.func = reinterpret_cast<void*>(kernel);
    params.kernel.gridDim = dim3(1);
    params.kernel.blockDim = dim3(1);
    params.kernel.kernelParams = pointers;
    return add(graph, params);
}

cudaGraph_t* add_condition(cudaGraph_t graph, cudaGraphConditionalHandle handle,
                           cudaGraphConditionalNodeType type, unsigned size,
                           cudaGraphNode_t after = nullptr) {
    cudaGraphNodeParams params = {cudaGraphNodeTypeConditional};
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    add(graph, params, after ? &after : nullptr);
    CHECK(params.conditional.phGraph_out);
    return params.conditional.phGraph_out;
}

void launch(cudaGraphExec_t exec) {
    CUDA(cudaGraphLaunch(exec, 0));
    CUDA(cudaDeviceSynchronize());
}

void branches() {
    unsigned* value = nullptr;
    int* places = nullptr;
    CUDA(cudaMallocManaged(&value, sizeof *value));
    CUDA(cudaMallocManaged(&places, sizeof(int)));
    *places = 0;
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle handle;
    CUDA(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    const cudaGraphNode_t first =
        add_kernel(graph, choose, handle, static_cast<const unsigned*>(value));
    cudaGraph_t* const bodies = add_condition(graph, handle, cudaGraphCondTypeIf, 1, first);
    add_kernel(bodies[0], note, places);
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (const unsigned each : {0u, 1u, 0u, 2u}) {
        *value = each;
        launch(exec);
    }
    CHECK(*places == 2);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
}

void loops() {
    int* numbers = nullptr;
    CUDA(cudaMallocManaged(&numbers, 2 * sizeof(int)));
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle handle;
    CUDA(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraph_t* const bodies = add_condition(graph, handle, cudaGraphCondTypeWhile, 1);
    // The body is filled by a capture.
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaStreamBeginCaptureToGraph(stream, bodies[0], nullptr, nullptr, 0,
                                       cudaStreamCaptureModeThreadLocal));
    count_down<<<1, 1, 0, stream>>>(handle, numbers, numbers + 1);
    CUDA(cudaGetLastError());
    cudaGraph_t body = nullptr;
    CUDA(cudaStreamEndCapture(stream, &body));
    CHECK(body == bodies[0]);
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (const int rounds : {1, 7, 0}) {
        numbers[0] = rounds;
        numbers[1] = 0;
        launch(exec);
        CHECK(numbers[1] == (rounds ? rounds : 1));
    }
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
}

int main() {
    branches();
    loops();
    std::puts("ok");
}
