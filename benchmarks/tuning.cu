// benchmarks/tuning.cu - five kernels whose tunables are macros; see tuning_families.py.
// A block has BX x BY threads.

#ifdef MATMUL
// c = a b, row by row. A thread has TM x TN elements of c; BK columns of a are in shared memory.
extern "C" __global__ void matmul(const float* __restrict__ a, const float* __restrict__ b,
                                  float* __restrict__ c, int m, int n, int k) {
    __shared__ float as[BK][BY * TM + 1];
    __shared__ float bs[BK][BX * TN];
    const int x = threadIdx.x, y = threadIdx.y, t = y * BX + x;
    const int top = blockIdx.y * BY * TM, left = blockIdx.x * BX * TN;
    float sum[TM][TN] = {};
    for (int at = 0; at < k; at += BK) {
        for (int i = t; i < BY * TM * BK; i += BX * BY) {
            const int r = i / BK, q = i % BK;
            const bool in = top + r < m && at + q < k;
            as[q][r] = in ? a[(size_t)(top + r) * k + at + q] : 0.0f;
        }
        for (int i = t; i < BX * TN * BK; i += BX * BY) {
            const int q = i / (BX * TN), r = i % (BX * TN);
            const bool in = left + r < n && at + q < k;
            bs[q][r] = in ? b[(size_t)(at + q) * n + left + r] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < BK; ++q) {
            float column[TM], row[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) column[i] = as[q][y + BY * i];
#pragma unroll
            for (int j = 0; j < TN; ++j) row[j] = bs[q][x + BX * j];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) sum[i][j] += column[i] * row[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) {
            const int r = top + y + BY * i, s = left + x + BX * j;
            if (r < m && s < n) c[(size_t)r * n + s] = sum[i][j];
        }
}
#endif

#ifdef CONVOLVE
// A filter of 7 x 7; beyond the edges the image is 0. A thread has TY rows.
extern "C" __global__ void convolve(const float* __restrict__ image,
                                    const float* __restrict__ filter, float* __restrict__ out,
                                    int rows, int columns) {
    const int left = blockIdx.x * BX, top = blockIdx.y * BY * TY;
    auto pixel = [&](int r, int s) {
        const bool in = r >= 0 && s >= 0 && r < rows && s < columns;
        return in ? image[(size_t)r * columns + s] : 0.0f;
    };
#if SHARED
    __shared__ float tile[BY * TY + 6][BX + 6];
    const int t = threadIdx.y * BX + threadIdx.x;
    for (int i = t; i < (BY * TY + 6) * (BX + 6); i += BX * BY) {
        const int r = i / (BX + 6), s = i % (BX + 6);
        tile[r][s] = pixel(top + r - 3, left + s - 3);
    }
    __syncthreads();
#endif
    for (int i = 0; i < TY; ++i) {
        const int y = threadIdx.y + BY * i, r = top + y, s = left + threadIdx.x;
        if (r >= rows || s >= columns) continue;
        float sum = 0.0f;
#pragma unroll
        for (int v = 0; v < 7; ++v)
#pragma unroll
            for (int u = 0; u < 7; ++u)
#if SHARED
                sum += filter[7 * v + u] * tile[y + v][threadIdx.x + u];
#else
                sum += filter[7 * v + u] * pixel(r + v - 3, s + u - 3);
#endif
        out[(size_t)r * columns + s] = sum;
    }
}
#endif

#ifdef ROW_SUMS
// BX threads sum a row, UNROLL elements at a time.
extern "C" __global__ void row_sums(const float* __restrict__ x, float* __restrict__ out, int rows,
                                    int columns) {
    __shared__ float part[BY][BX];
    const int row = blockIdx.x * BY + threadIdx.y;
    float sum[UNROLL] = {};
    if (row < rows) {
        const float* p = x + (size_t)row * columns;
        for (int at = threadIdx.x; at < columns; at += BX * UNROLL)
#pragma unroll
            for (int i = 0; i < UNROLL; ++i)
                if (at + BX * i < columns) sum[i] += p[at + BX * i];
    }
    for (int i = 1; i < UNROLL; ++i) sum[0] += sum[i];
    part[threadIdx.y][threadIdx.x] = sum[0];
    for (int width = BX / 2; width; width /= 2) {
        __syncthreads();
        if (threadIdx.x < width)
            part[threadIdx.y][threadIdx.x] += part[threadIdx.y][threadIdx.x + width];
    }
    if (row < rows && threadIdx.x == 0) out[row] = part[threadIdx.y][0];
}
#endif

#ifdef TRANSPOSE
// A block moves BX x BX elements through shared memory, whose rows have PAD more.
extern "C" __global__ void transpose(const float* __restrict__ x, float* __restrict__ out, int rows,
                                     int columns) {
    __shared__ float tile[BX][BX + PAD];
    const int left = blockIdx.x * BX, top = blockIdx.y * BX;
    for (int i = threadIdx.y; i < BX; i += BY)
        if (top + i < rows && left + threadIdx.x < columns)
            tile[i][threadIdx.x] = x[(size_t)(top + i) * columns + left + threadIdx.x];
    __syncthreads();
    for (int i = threadIdx.y; i < BX; i += BY)
        if (left + i < columns && top + threadIdx.x < rows)
            out[(size_t)(left + i) * rows + top + threadIdx.x] = tile[threadIdx.x][i];
}
#endif

#ifdef STENCIL
// The mean of the four neighbours; the edge keeps its values. A thread has TY rows.
extern "C" __global__ void stencil(const float* __restrict__ x, float* __restrict__ out, int rows,
                                   int columns) {
    const int s = blockIdx.x * BX + threadIdx.x;
#pragma unroll
    for (int i = 0; i < TY; ++i) {
        const int r = blockIdx.y * BY * TY + threadIdx.y + BY * i;
        if (r >= rows || s >= columns) continue;
        const float* p = x + (size_t)r * columns + s;
        const bool inside = r > 0 && s > 0 && r < rows - 1 && s < columns - 1;
        out[(size_t)r * columns + s] =
            inside ? 0.25f * (p[-1] + p[1] + p[-columns] + p[columns]) : *p;
    }
}
#endif
