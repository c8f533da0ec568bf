// cupola: grid = ["queries"]
// A block a query. All scores are in shared memory, and the lanes of a warp exchange weights.
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* y,
                                     int queries, int keys) {
    __shared__ float query[32], scores[140], parts[4][32], sums[4], tops[4];
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, row = blockIdx.x;
    const int seen = row + 1 + keys - queries;
    if (seen <= 0) {
        if (t < 32) y[row * 32 + t] = 0.0f;
        return;
    }
    if (t < 32) query[t] = q[row * 32 + t];
    __syncthreads();
    float largest = -INFINITY;
    for (int key = t; key < seen; key += 128) {
        float score = 0;
        for (int d = 0; d < 32; ++d) score = fmaf(query[d], k[key * 32 + d], score);
        scores[key] = score * rsqrtf(32.0f);
        largest = fmaxf(largest, scores[key]);
    }
    for (int mask = 16; mask > 0; mask /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, mask));
    if (lane == 0) tops[warp] = largest;
    __syncthreads();
    largest = fmaxf(fmaxf(tops[0], tops[1]), fmaxf(tops[2], tops[3]));
    float part = 0, sum = 0;
    for (int key = warp; key < seen; key += 4) {
        const float weight = __expf(scores[key] - largest);
        sum += weight;
        part = fmaf(weight, v[key * 32 + lane], part);
    }
    parts[warp][lane] = part;
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    if (warp > 0) return;
    part = parts[0][lane] + parts[1][lane] + parts[2][lane] + parts[3][lane];
    y[row * 32 + lane] = part / (sums[0] + sums[1] + sums[2] + sums[3]);
}
