// nvcc: -rdc=true -lcudadevrt
//
// Kernels that launch graphs: a scheduler graph that chooses the next graph, as a tail, until the
// queue is empty. Prints "ok", or the check that failed.
#include "check.cuh"

struct Queue {
    int next, count;
    int kinds[8];
    int log[32];
    int logged;
};

__device__ void note(Queue* queue, int what) { queue->log[queue->logged++] = what; }

__global__ void serve(Queue* queue, int kind) { note(queue, kind); }

// Launches the graph of the next entry, and then the scheduler again.
__global__ void schedule(Queue* queue, const cudaGraphExec_t* servers) {
    if (queue->next == queue->count) return;
    const int kind = queue->kinds[queue->next++];
    note(queue, 100 + kind);
    if (cudaGraphLaunch(servers[kind], cudaStreamGraphFireAndForget) != cudaSuccess)
        note(queue, -1);
    const cudaGraphExec_t own = cudaGetCurrentGraphExec();
    if (cudaGraphLaunch(own, cudaStreamGraphTailLaunch) != cudaSuccess) note(queue, -2);
}

template <class... Arguments>
cudaGraphExec_t graph_of(void (*kernel)(Arguments...), Arguments... arguments) {
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    kernel<<<1, 1, 0, stream>>>(arguments...);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&ready, graph, cudaGraphInstantiateFlagDeviceLaunch));
    CUDA(cudaGraphUpload(ready, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    return ready;
}

int main() {
    Queue* queue = nullptr;
    cudaGraphExec_t* servers = nullptr;
    CUDA(cudaMallocManaged(&queue, sizeof *queue));
    CUDA(cudaMallocManaged(&servers, 2 * sizeof *servers));
    *queue = Queue{0, 4, {1, 0, 0, 1}, {}, 0};
    for (int kind = 0; kind < 2; ++kind) servers[kind] = graph_of<Queue*, int>(serve, queue, kind);
    cudaGraphExec_t scheduler = graph_of<Queue*, const cudaGraphExec_t*>(schedule, queue, servers);
    CUDA(cudaGraphLaunch(scheduler, nullptr));
    CUDA(cudaDeviceSynchronize());
    CHECK(queue->logged == 8);
    const int expected[] = {101, 1, 100, 0, 100, 0, 101, 1};
    for (int n = 0; n < 8; ++n) CHECK(queue->log[n] == expected[n]);
    CUDA(cudaGraphExecDestroy(scheduler));
    for (int kind = 0; kind < 2; ++kind) CUDA(cudaGraphExecDestroy(servers[kind]));
    std::puts("ok");
}
