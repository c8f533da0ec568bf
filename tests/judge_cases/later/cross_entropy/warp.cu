// cupola: grid = ["ceildiv(rows, 2)"]
// cupola: block = [32, 2]
// A warp a row. A lane keeps a maximum and a sum; a lane without elements has a maximum of -inf.
extern "C" __global__ void cross_entropy(const float* logits, const int* labels, float* losses,
                                         int rows, int classes) {
    const int row = blockIdx.x * 2 + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    const float* from = logits + (size_t)row * classes;
    const int label = labels[row];
    float largest = -INFINITY, sum = 0, own = 0;
    for (int c = lane; c < classes; c += 32) {
        const float value = from[c], next = fmaxf(largest, value);
        sum = sum * expf(largest - next) + expf(value - next);
        largest = next;
        if (c == label) own = value;
    }
    for (int mask = 16; mask > 0; mask /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, largest, mask);
        const float more = __shfl_xor_sync(0xffffffffu, sum, mask);
        const float next = fmaxf(largest, other);
        if (next > -INFINITY) sum = sum * expf(largest - next) + more * expf(other - next);
        largest = next;
        own += __shfl_xor_sync(0xffffffffu, own, mask);
    }
    if (lane == 0) losses[row] = label < 0 ? 0.0f : logf(sum) + largest - own;
}
