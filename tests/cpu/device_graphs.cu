// tests/cpu/device_graphs.cu - kernels that launch graphs. Each kernel is one thread. A list has
// the number of its entries in its first word.
#include <cuda_runtime.h>

__device__ void add(int* list, int number) { list[1 + atomicAdd(list, 1)] = number; }

extern "C" __global__ void append(int* list, int number) { add(list, number); }

// Appends the error of a failed launch, and then `number`.
__device__ void launch(int* list, cudaGraphExec_t graph, cudaStream_t stream, int number) {
    const cudaError_t error = cudaGraphLaunch(graph, stream);
    if (error != cudaSuccess) add(list, -static_cast<int>(error));
    add(list, number);
}

extern "C" __global__ void forget(int* list, cudaGraphExec_t graph, int number) {
    launch(list, graph, cudaStreamGraphFireAndForget, number);
}
extern "C" __global__ void tail(int* list, cudaGraphExec_t graph, int number) {
    launch(list, graph, cudaStreamGraphTailLaunch, number);
}
extern "C" __global__ void sibling(int* list, cudaGraphExec_t graph, int number) {
    launch(list, graph, cudaStreamGraphFireAndForgetAsSibling, number);
}
extern "C" __global__ void in_stream(int* list, cudaGraphExec_t graph, cudaStream_t stream) {
    launch(list, graph, stream, 0);
}

// Launches its own graph until the counter is zero.
extern "C" __global__ void again(int* counter) {
    if (--*counter > 0) cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}
extern "C" __global__ void again_twice(int* list) {
    if (list[0] != 0) return;
    const cudaGraphExec_t own = cudaGetCurrentGraphExec();
    launch(list, own, cudaStreamGraphFireAndForget, 0);
    launch(list, own, cudaStreamGraphTailLaunch, 1);
    launch(list, own, cudaStreamGraphTailLaunch, 2);
}
// Two graphs launch each other as siblings until the counter is zero.
extern "C" __global__ void in_turn(int* counter, const cudaGraphExec_t* other) {
    if (--*counter > 0) cudaGraphLaunch(*other, cudaStreamGraphFireAndForgetAsSibling);
}
extern "C" __global__ void every(int* list, const cudaGraphExec_t* graphs, int count,
                                 cudaStream_t stream) {
    for (int n = 0; n < count; ++n) {
        const cudaError_t error = cudaGraphLaunch(graphs[n], stream);
        if (error != cudaSuccess) add(list, -static_cast<int>(error));
    }
}
extern "C" __global__ void current(unsigned long long* out) {
    *out = reinterpret_cast<unsigned long long>(cudaGetCurrentGraphExec());
}
extern "C" __global__ void child(int* list) { append<<<1, 1>>>(list, 1); }
extern "C" __global__ void fault() { *reinterpret_cast<volatile int*>(8) = 1; }
