// A warp a query. 32 keys a step: a lane first computes the score of a key, then sums an element.
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* y,
                                     int queries, int keys) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= queries) return;
    const int seen = row + 1 + keys - queries;
    const float query = q[row * 32 + lane] * rsqrtf(32.0f);
    float largest = -INFINITY, sum = 0, part = 0;
    for (int first = 0; first < seen; first += 32) {
        const int key = first + lane;
        float score = 0;
        for (int d = 0; d < 32; ++d) {
            const float element = __shfl_sync(0xffffffffu, query, d);
            if (key < seen) score = fmaf(element, k[key * 32 + d], score);
        }
        if (key >= seen) score = -INFINITY;
        float next = fmaxf(largest, score);
        for (int mask = 16; mask > 0; mask /= 2)
            next = fmaxf(next, __shfl_xor_sync(0xffffffffu, next, mask));
        const float weight = expf(score - next);
        float weights = weight;
        for (int mask = 16; mask > 0; mask /= 2)
            weights += __shfl_xor_sync(0xffffffffu, weights, mask);
        sum = sum * expf(largest - next) + weights;
        for (int other = 0; other < min(32, seen - first); ++other)
            part += __shfl_sync(0xffffffffu, weight, other) * v[(first + other) * 32 + lane];
        largest = next;
    }
    y[row * 32 + lane] = seen > 0 ? part / sum : 0.0f;
}
