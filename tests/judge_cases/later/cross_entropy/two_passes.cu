// The maximum of a block by atomic operations on integers of the same order; then one sum.
__device__ int ordered(float value) {
    const int bits = __float_as_int(value);
    return bits < 0 ? bits ^ 0x7fffffff : bits;
}

extern "C" __global__ void cross_entropy(const float* logits, const int* labels, float* losses,
                                         int rows, int classes) {
    __shared__ int top;
    __shared__ float sum;
    const int label = labels[blockIdx.x];
    if (label < 0) {
        if (threadIdx.x == 0) losses[blockIdx.x] = 0;
        return;
    }
    const float* row = logits + (size_t)blockIdx.x * classes;
    if (threadIdx.x == 0) {
        top = INT_MIN;
        sum = 0;
    }
    __syncthreads();
    for (int c = threadIdx.x; c < classes; c += 128) atomicMax(&top, ordered(row[c]));
    __syncthreads();
    const float largest = __int_as_float(top < 0 ? top ^ 0x7fffffff : top);
    float part = 0;
    for (int c = threadIdx.x; c < classes; c += 128) part += expf(row[c] - largest);
    atomicAdd(&sum, part);
    __syncthreads();
    if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) - (row[label] - largest);
}
