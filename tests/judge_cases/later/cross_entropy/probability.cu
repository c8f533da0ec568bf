// A warp a row: the probability of the label, and its logarithm.
// cupola: block = [32]
extern "C" __global__ void cross_entropy(const float* logits, const int* labels, float* losses,
                                         int rows, int classes) {
    const int lane = threadIdx.x, label = labels[blockIdx.x];
    const float* row = logits + (size_t)blockIdx.x * classes;
    float largest = -INFINITY, sum = 0;
    for (int c = lane; c < classes; c += 32) largest = fmaxf(largest, row[c]);
    for (int mask = 16; mask > 0; mask /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, mask));
    for (int c = lane; c < classes; c += 32) sum += expf(row[c] - largest);
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    if (lane > 0) return;
    const float probability = label < 0 ? 1.0f : expf(row[label] - largest) / sum;
    losses[blockIdx.x] = -logf(fmaxf(probability, 1e-37f));
}
