// A warp a query, a lane an element.
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* y,
                                     int queries, int keys) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= queries) return;
    const int seen = queries > keys ? row + 1 + keys - queries : min(row + 1, keys);
    const float query = q[row * 32 + lane] * rsqrtf(32.0f);
    float largest = -INFINITY, sum = 0, part = 0;
    for (int key = 0; key < seen; ++key) {
        float score = query * k[key * 32 + lane];
        for (int mask = 16; mask > 0; mask /= 2) score += __shfl_xor_sync(0xffffffffu, score, mask);
        const float next = fmaxf(largest, score), factor = expf(largest - next);
        const float weight = expf(score - next);
        sum = sum * factor + weight;
        part = part * factor + weight * v[key * 32 + lane];
        largest = next;
    }
    y[row * 32 + lane] = seen > 0 ? part / sum : 0.0f;
}
