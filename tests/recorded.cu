// tests/recorded.cu - kernels whose launches test_record.py records.
struct Rows {
    double* values;
    long long count;
    const double* weights;
};

struct Node {
    Node* next;
    int value;
};

__constant__ float table[4];
__device__ unsigned calls;
__device__ float* place;

extern "C" __global__ void step_scale(float* out, const float* x, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i];
}

extern "C" __global__ void step_add(float* out, const float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += x[i];
}

extern "C" __global__ void weigh(Rows rows) {
    const int i = threadIdx.x;
    if (i < rows.count) rows.values[i] *= rows.weights[i];
}

extern "C" __global__ void gather(float* const* rows, float* out, int n) {
    if (threadIdx.x < n) out[threadIdx.x] = rows[threadIdx.x][0];
}

extern "C" __global__ void sum(const Node* node, int* out) {
    int total = 0;
    for (; node; node = node->next) total += node->value;
    *out = total;
}

extern "C" __global__ void swap(Node* a, Node* b) {
    Node* const next = a->next;
    a->next = b->next;
    b->next = next;
}

extern "C" __global__ void look_up(float* out) {
    out[threadIdx.x] = table[threadIdx.x % 4];
    atomicAdd(&calls, 1u);
    if (threadIdx.x == 0 && place) place[0] = out[0] + 1;
}

extern "C" __global__ void race(float* x) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = tile[63 - threadIdx.x];
}

extern "C" __global__ void overrun(float* x, int n) { x[n + threadIdx.x] = 1; }

extern "C" __global__ void shared_sum(const int* x, int* out) {
    extern __shared__ int parts[];
    parts[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        int total = 0;
        for (int i = 0; i < blockDim.x; ++i) total += parts[i];
        *out = total;
    }
}

extern "C" __global__ void fetch(unsigned long long image, float* out) {
    out[threadIdx.x] = tex1Dfetch<float>(image, threadIdx.x);
}
