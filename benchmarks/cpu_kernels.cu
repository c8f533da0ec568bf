// benchmarks/cpu_kernels.cu - kernels in ordinary style, beside those of eight.cu. Each class of
// eight.cu has a second one here, and four have a third with flat indices (`/` and `%`).
// cpu_kernels.cpp has the same work as OpenMP loops.

extern "C" __global__ void escape_times(int* times, int width, int height, int limit) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    const float cx = -2.2f + 3.2f * column / width;
    const float cy = -1.2f + 2.4f * row / height;
    float x = 0, y = 0;
    int time = 0;
    while (time < limit) {
        const float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f) break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        ++time;
    }
    times[row * width + column] = time;
}

// Positions and masses in arrays of their own, and no tile in shared memory.
extern "C" __global__ void accelerations(const float* px, const float* py, const float* pz,
                                         const float* mass, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = px[i], y = py[i], z = pz[i];
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; ++j) {
        const float dx = px[j] - x, dy = py[j] - y, dz = pz[j] - z;
        const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
        const float scale = mass[j] * inverse * inverse * inverse;
        ax += scale * dx;
        ay += scale * dy;
        az += scale * dz;
    }
    out[i] = ax;
    out[n + i] = ay;
    out[2 * n + i] = az;
}

__device__ float normal_cdf(float d) {
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float poly =
        k * (0.31938153f +
             k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float tail = 0.39894228f * expf(-0.5f * d * d) * poly;
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float* price, const float* strike,
                                         const float* years, float* call, float rate,
                                         float volatility, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float root = sqrtf(years[i]);
    const float d1 =
        (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) /
        (volatility * root);
    const float d2 = d1 - volatility * root;
    call[i] = price[i] * normal_cdf(d1) - strike[i] * expf(-rate * years[i]) * normal_cdf(d2);
}

extern "C" __global__ void saxpy_in_place(float* y, const float* x, float a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void dot(const float* x, const float* y, float* out, int n) {
    __shared__ float warps[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i] * y[i];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0f;
        for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

// 3 x 3 weights; what lies outside of the image is its nearest pixel.
extern "C" __global__ void blur(const float* in, const float* weights, float* out, int width,
                                int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int j = -1; j <= 1; ++j)
        for (int i = -1; i <= 1; ++i) {
            const int column = min(max(x + i, 0), width - 1), row = min(max(y + j, 0), height - 1);
            sum += weights[3 * (j + 1) + i + 1] * in[row * width + column];
        }
    out[y * width + x] = sum;
}

extern "C" __global__ void transpose(const float* in, float* out, int width, int height) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        const int y = blockIdx.y * 32 + j;
        if (x < width && y < height) tile[j][threadIdx.x] = in[y * width + x];
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        const int y = blockIdx.x * 32 + j;
        if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][j];
    }
}

// Tiles of 32 x 32, of matrices whose side is no multiple of that.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float left[32][32], right[32][32];
    const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < n; first += 32) {
        const int across = first + threadIdx.x, down = first + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < n && across < n ? a[row * n + across] : 0.0f;
        right[threadIdx.y][threadIdx.x] = down < n && column < n ? b[down * n + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

// A histogram of numbers from 0 to 1, in 64 bins.
extern "C" __global__ void density(const float* in, int* bins, int n) {
    __shared__ int own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[min(static_cast<int>(in[i] * 64.0f), 63)], 1);
    __syncthreads();
    if (threadIdx.x < 64 && own[threadIdx.x] > 0) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// A histogram of bytes.
extern "C" __global__ void byte_histogram(const unsigned char* in, int* bins, int n) {
    __shared__ int own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[in[i]], 1);
    __syncthreads();
    if (own[threadIdx.x] > 0) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

extern "C" __global__ void jacobi(const float* in, float* out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    const int i = y * width + x;
    out[i] = 0.25f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}

// A sparse matrix by a vector; a thread has a row.
extern "C" __global__ void sparse_rows(const int* first, const int* columns, const float* values,
                                       const float* x, float* y, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = first[row]; k < first[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

// A sparse matrix by a vector; a warp has a row.
extern "C" __global__ void sparse_warps(const int* first, const int* columns, const float* values,
                                        const float* x, float* y, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0;
    for (int k = first[row] + lane; k < first[row + 1]; k += 32) sum += values[k] * x[columns[k]];
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0) y[row] = sum;
}

// How many neighbours of a vertex have its colour; a thread has a vertex.
extern "C" __global__ void same_colour(const int* first, const int* neighbours,
                                       const unsigned char* colours, int* same, int vertices) {
    const int vertex = blockIdx.x * blockDim.x + threadIdx.x;
    if (vertex >= vertices) return;
    const unsigned char own = colours[vertex];
    int count = 0;
    for (int k = first[vertex]; k < first[vertex + 1]; ++k) count += colours[neighbours[k]] == own;
    same[vertex] = count;
}

// Each block's inclusive sums, of 256 integers.
extern "C" __global__ void scan(const int* in, int* out) {
    __shared__ int sums[2][256];
    const int t = threadIdx.x;
    int at = 0;
    sums[0][t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int step = 1; step < 256; step *= 2) {
        sums[1 - at][t] = t >= step ? sums[at][t] + sums[at][t - step] : sums[at][t];
        at = 1 - at;
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = sums[at][t];
}

// Each block sorts 512 keys.
extern "C" __global__ void bitonic(const unsigned* in, unsigned* out) {
    __shared__ unsigned keys[512];
    const unsigned t = threadIdx.x, base = blockIdx.x * 512;
    keys[t] = in[base + t];
    keys[t + 256] = in[base + t + 256];
    for (unsigned size = 2; size <= 512; size *= 2)
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const unsigned low = 2 * t - (t & (stride - 1)), high = low + stride;
            const bool rising = (low & size) == 0;
            const unsigned a = keys[low], b = keys[high];
            if ((a > b) == rising) {
                keys[low] = b;
                keys[high] = a;
            }
        }
    __syncthreads();
    out[base + t] = keys[t];
    out[base + t + 256] = keys[t + 256];
}

extern "C" __global__ void convolution_flat(const float* in, const float* weights, float* out,
                                            int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n) return;
    const int x = i % n, y = i / n;
    if (x < 2 || y < 2 || x >= n - 2 || y >= n - 2) return;
    float sum = 0;
    for (int k = 0; k < 25; ++k) sum += weights[k] * in[(y + k / 5 - 2) * n + x + k % 5 - 2];
    out[i] = sum;
}

extern "C" __global__ void transpose_flat(const float* in, float* out, int width, int height) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < width * height) out[i % width * height + i / width] = in[i];
}

extern "C" __global__ void jacobi_flat(const float* in, float* out, int width, int height) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width * height) return;
    const int x = i % width, y = i / width;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1)
        out[i] = 0.25f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}

extern "C" __global__ void matmul_flat(const float* a, const float* b, float* c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n) return;
    const int row = i / n, column = i % n;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
    c[i] = sum;
}
