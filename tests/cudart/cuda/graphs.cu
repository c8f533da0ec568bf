// Graphs of kernels that nvcc registers: captures, nodes of all types, updates, clones. Prints
// "ok", or the check that failed.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "check.cuh"

constexpr int count = 256;

__device__ int table[4] = {1, 2, 3, 4};
__constant__ int factor = 3;

__global__ void add(int* numbers, int value) {
    numbers[blockIdx.x * blockDim.x + threadIdx.x] += value;
}
__global__ void multiply(int* numbers) { numbers[blockIdx.x * blockDim.x + threadIdx.x] *= factor; }
template <class T>
__global__ void sum(T* to, const T* left, const T* right) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    to[n] = left[n] + right[n];
}

int* device_numbers(int value) {
    int* made = nullptr;
    CUDA(cudaMalloc(&made, count * sizeof(int)));
    const std::vector<int> values(count, value);
    CUDA(cudaMemcpy(made, values.data(), count * sizeof(int), cudaMemcpyHostToDevice));
    return made;
}

bool all(const int* numbers, int value) {
    std::vector<int> values(count);
    CUDA(cudaMemcpy(values.data(), numbers, count * sizeof(int), cudaMemcpyDeviceToHost));
    for (const int each : values)
        if (each != value) {
            std::printf("found %d, expected %d\n", each, value);
            return false;
        }
    return true;
}

void launch(cudaGraph_t graph, cudaStream_t stream, int times = 1) {
    cudaGraphExec_t exec = nullptr;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int n = 0; n < times; ++n) CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphExecDestroy(exec));
}

void called(void* data) { ++*static_cast<int*>(data); }

void capture_a_fork() {
    cudaStream_t first, second;
    cudaEvent_t fork, join;
    CUDA(cudaStreamCreate(&first));
    CUDA(cudaStreamCreate(&second));
    CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    int *left = device_numbers(1), *right = device_numbers(2), *both = device_numbers(0);
    int calls = 0;
    CUDA(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    CUDA(cudaEventRecord(fork, first));
    CUDA(cudaStreamWaitEvent(second, fork, 0));
    add<<<count / 64, 64, 0, first>>>(left, 1);
    CUDA(cudaGetLastError());
    multiply<<<count / 64, 64, 0, second>>>(right);
    CUDA(cudaGetLastError());
    CUDA(cudaEventRecord(join, second));
    CUDA(cudaStreamWaitEvent(first, join, 0));
    CUDA(cudaStreamDestroy(second));
    sum<int><<<count / 64, 64, 0, first>>>(both, left, right);
    CUDA(cudaGetLastError());
    CUDA(cudaLaunchHostFunc(first, called, &calls));
    cudaStreamCaptureStatus status;
    CUDA(cudaStreamIsCapturing(first, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    cudaGraph_t graph = nullptr;
    CUDA(cudaStreamEndCapture(first, &graph));
    size_t nodes = 0;
    CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(nodes == 4);
    CHECK(all(both, 0));
    launch(graph, first, 2);
    CHECK(all(left, 3) && all(right, 18) && all(both, 21) && calls == 2);
    // The parameters of captured kernels are in the terms of the runtime.
    std::vector<cudaGraphNode_t> found(nodes);
    CUDA(cudaGraphGetNodes(graph, found.data(), &nodes));
    int kernels = 0;
    for (const cudaGraphNode_t node : found) {
        cudaGraphNodeType type;
        CUDA(cudaGraphNodeGetType(node, &type));
        if (type != cudaGraphNodeTypeKernel) continue;
        cudaKernelNodeParams params;
        CUDA(cudaGraphKernelNodeGetParams(node, &params));
        const bool known = params.func == reinterpret_cast<void*>(&add) ||
                           params.func == reinterpret_cast<void*>(&multiply) ||
                           params.func == reinterpret_cast<void*>(&sum<int>);
        CHECK(known && params.gridDim.x == count / 64 && params.blockDim.x == 64);
        CUDA(cudaGraphKernelNodeSetParams(node, &params));
        ++kernels;
    }
    CHECK(kernels == 3);
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(first));
}

cudaKernelNodeParams kernel_params(void* function, void** arguments) {
    cudaKernelNodeParams made{};
    made.func = function;
    made.gridDim = dim3(count / 64);
    made.blockDim = dim3(64);
    made.kernelParams = arguments;
    return made;
}

void explicit_nodes() {
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    int *numbers = device_numbers(0), *copy = device_numbers(0);
    int value = 5, calls = 0;
    void* arguments[] = {&numbers, &value};
    cudaGraph_t graph, child;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphCreate(&child, 0));
    cudaGraphNode_t fill, kernel, inner, record, wait, host, back;
    cudaMemsetParams zeros{};
    zeros.dst = numbers;
    zeros.elementSize = sizeof(int);
    zeros.width = count;
    zeros.height = 1;
    CUDA(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zeros));
    const cudaKernelNodeParams adding = kernel_params(reinterpret_cast<void*>(&add), arguments);
    CUDA(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &adding));
    void* multiplied[] = {&numbers};
    const cudaKernelNodeParams multiplying =
        kernel_params(reinterpret_cast<void*>(&multiply), multiplied);
    cudaGraphNode_t unused;
    CUDA(cudaGraphAddKernelNode(&unused, child, nullptr, 0, &multiplying));
    CUDA(cudaGraphAddChildGraphNode(&inner, graph, &kernel, 1, child));
    CUDA(cudaGraphDestroy(child));
    cudaEvent_t event;
    CUDA(cudaEventCreate(&event));
    CUDA(cudaGraphAddEventRecordNode(&record, graph, &inner, 1, event));
    CUDA(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, event));
    cudaHostNodeParams function{called, &calls};
    CUDA(cudaGraphAddHostNode(&host, graph, &wait, 1, &function));
    CUDA(cudaGraphAddMemcpyNode1D(&back, graph, &host, 1, copy, numbers, count * sizeof(int),
                                  cudaMemcpyDeviceToDevice));
    launch(graph, stream, 2);
    CHECK(all(numbers, 15) && all(copy, 15) && calls == 2);

    // Changes of the executable graph.
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    value = 6;
    CUDA(cudaGraphExecKernelNodeSetParams(exec, kernel, &adding));
    zeros.value = 1;
    CUDA(cudaGraphExecMemsetNodeSetParams(exec, fill, &zeros));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CHECK(all(copy, 21));
    CUDA(cudaGraphNodeSetEnabled(exec, kernel, 0));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CHECK(all(copy, 3));

    // A clone, and an update by it.
    cudaGraph_t clone;
    CUDA(cudaGraphClone(&clone, graph));
    cudaGraphNode_t cloned;
    CUDA(cudaGraphNodeFindInClone(&cloned, kernel, clone));
    value = 7;
    CUDA(cudaGraphKernelNodeSetParams(cloned, &adding));
    cudaGraphExecUpdateResultInfo info;
    CUDA(cudaGraphExecUpdate(exec, clone, &info));
    CHECK(info.result == cudaGraphExecUpdateSuccess);
    CUDA(cudaGraphNodeSetEnabled(exec, kernel, 1));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CHECK(all(copy, 21));
    CUDA(cudaGraphDestroyNode(cloned));
    CHECK(cudaGraphExecUpdate(exec, clone, &info) == cudaErrorGraphExecUpdateFailure);
    CHECK(info.result != cudaGraphExecUpdateSuccess);
    CHECK(cudaGetLastError() == cudaErrorGraphExecUpdateFailure);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(clone));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
}

void symbols() {
    int host[4] = {9, 8, 7, 6}, seen[4] = {};
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t to, from;
    CUDA(cudaGraphAddMemcpyNodeToSymbol(&to, graph, nullptr, 0, table, host, 2 * sizeof(int),
                                        sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, seen, table, sizeof seen, 0,
                                          cudaMemcpyDeviceToHost));
    CHECK(cudaGraphMemcpyNodeSetParamsToSymbol(to, table, host, sizeof host, sizeof(int),
                                               cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    cudaGetLastError();
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphLaunch(exec, 0));
    CUDA(cudaDeviceSynchronize());
    CHECK(seen[0] == 1 && seen[1] == 9 && seen[2] == 8 && seen[3] == 4);
    CUDA(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to, table, host + 2, sizeof(int), 0,
                                                  cudaMemcpyHostToDevice));
    CUDA(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, from, seen + 2, table, 2 * sizeof(int), 0,
                                                    cudaMemcpyDeviceToHost));
    CUDA(cudaGraphLaunch(exec, 0));
    CUDA(cudaDeviceSynchronize());
    CHECK(seen[0] == 1 && seen[1] == 9 && seen[2] == 7 && seen[3] == 9);
    CUDA(cudaGraphMemcpyNodeSetParamsToSymbol(to, factor, host, sizeof(int), 0, cudaMemcpyDefault));
    CUDA(cudaGraphMemcpyNodeSetParamsFromSymbol(from, seen, factor, sizeof(int), 0,
                                                cudaMemcpyDefault));
    launch(graph, 0);
    CHECK(seen[0] == 9);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    const int three = 3;
    CUDA(cudaMemcpyToSymbol(factor, &three, sizeof three));
}

void memory() {
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams params{};
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    params.bytesize = count * sizeof(int);
    cudaGraphNode_t allocation, fill, kernel, copy, freed;
    CUDA(cudaGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &params));
    cudaMemsetParams twos{};
    twos.dst = params.dptr;
    twos.value = 2;
    twos.elementSize = sizeof(int);
    twos.width = count;
    twos.height = 1;
    CUDA(cudaGraphAddMemsetNode(&fill, graph, &allocation, 1, &twos));
    void* arguments[] = {&params.dptr};
    const cudaKernelNodeParams multiplying =
        kernel_params(reinterpret_cast<void*>(&multiply), arguments);
    CUDA(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &multiplying));
    int* numbers = device_numbers(0);
    CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, numbers, params.dptr, params.bytesize,
                                  cudaMemcpyDefault));
    CUDA(cudaGraphAddMemFreeNode(&freed, graph, &copy, 1, params.dptr));
    launch(graph, 0, 3);
    CHECK(all(numbers, 6));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaDeviceGraphMemTrim(0));
}

// The condition has its default value at each launch.
void conditions() {
    for (const unsigned value : {0u, 1u}) {
        cudaGraph_t graph;
        CUDA(cudaGraphCreate(&graph, 0));
        cudaGraphConditionalHandle handle;
        CUDA(cudaGraphConditionalHandleCreate(&handle, graph, value, cudaGraphCondAssignDefault));
        cudaGraphNodeParams params = {cudaGraphNodeTypeConditional};
        params.conditional.handle = handle;
        params.conditional.type = cudaGraphCondTypeIf;
        params.conditional.size = 1;
        cudaGraphNode_t node, inner;
#if CUDART_VERSION >= 13000
        CUDA(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
#else
        CUDA(cudaGraphAddNode(&node, graph, nullptr, 0, &params));
#endif
        int *numbers = device_numbers(1), change = 4;
        void* arguments[] = {&numbers, &change};
        const cudaKernelNodeParams adding = kernel_params(reinterpret_cast<void*>(&add), arguments);
        CUDA(
            cudaGraphAddKernelNode(&inner, params.conditional.phGraph_out[0], nullptr, 0, &adding));
        launch(graph, 0, 2);
        CHECK(all(numbers, value ? 9 : 1));
        CUDA(cudaGraphDestroy(graph));
    }
}

int main() {
    capture_a_fork();
    explicit_nodes();
    symbols();
    memory();
    conditions();
    std::puts("ok");
}
