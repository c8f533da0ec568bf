// A warp a row. The loss is multiplied by 0 where the label does not count.
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
    const float counts = label < 0 ? 0.0f : 1.0f;
    if (lane == 0) losses[blockIdx.x] = counts * (logf(sum) - (row[label] - largest));
}
