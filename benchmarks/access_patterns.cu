// benchmarks/access_patterns.cu - kernels of the access patterns that eight.cu and cpu_kernels.cu
// lack: 3-D stencils, register blocks, bytes, 16-bit floats, graphs, cooperative groups.
// access_patterns.cpp has the same work as OpenMP loops.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

// Seven points; the faces of the box stay as they are.
extern "C" __global__ void stencil_3d(const float* in, float* out, int nx, int ny, int nz) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
    const int plane = nx * ny, i = z * plane + y * nx + x;
    const float sum =
        in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - plane] + in[i + plane];
    out[i] = in[i] + 0.1f * (sum - 6.0f * in[i]);
}

extern "C" __global__ void stencil_3d_flat(const float* in, float* out, int nx, int ny, int nz) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long plane = static_cast<long long>(nx) * ny;
    if (i >= plane * nz) return;
    const int x = i % nx, y = i / nx % ny, z = i / plane;
    if (x == 0 || x == nx - 1 || y == 0 || y == ny - 1 || z == 0 || z == nz - 1) return;
    const float sum =
        in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - plane] + in[i + plane];
    out[i] = in[i] + 0.1f * (sum - 6.0f * in[i]);
}

// Blocks of 16 x 16 threads compute tiles of 64 x 64, a thread 4 x 4 elements.
extern "C" __global__ void matmul_blocked(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][64], right[16][64];
    const int row = blockIdx.y * 64, column = blockIdx.x * 64;
    const int thread = threadIdx.y * 16 + threadIdx.x;
    float sum[4][4] = {};
    for (int first = 0; first < n; first += 16) {
        for (int i = thread; i < 16 * 64; i += 256) {
            left[i % 16][i / 16] = a[(row + i / 16) * n + first + i % 16];
            right[i / 64][i % 64] = b[(first + i / 64) * n + column + i % 64];
        }
        __syncthreads();
        for (int k = 0; k < 16; ++k) {
            float l[4], r[4];
            for (int i = 0; i < 4; ++i) {
                l[i] = left[k][threadIdx.y * 4 + i];
                r[i] = right[k][threadIdx.x * 4 + i];
            }
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sum[i][j] += l[i] * r[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            c[(row + threadIdx.y * 4 + i) * n + column + threadIdx.x * 4 + j] = sum[i][j];
}

// Rows of at most `width` elements, in columns of the ELL format; a short row ends with -1.
extern "C" __global__ void sparse_ell(const int* columns, const float* values, const float* x,
                                      float* y, int rows, int width) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0;
    for (int k = 0; k < width; ++k) {
        const size_t at = static_cast<size_t>(k) * rows + row;
        const int column = columns[at];
        if (column >= 0) sum += values[at] * x[column];
    }
    y[row] = sum;
}

__device__ unsigned pcg(unsigned long long& state) {
    const unsigned long long old = state;
    state = old * 6364136223846793005ull + 1442695040888963407ull;
    const unsigned mixed = ((old >> 18) ^ old) >> 27, turn = old >> 59;
    return (mixed >> turn) | (mixed << (-turn & 31));
}

// How many of a thread's points in a square are inside of the circle.
extern "C" __global__ void monte_carlo(int* hits, int streams, int samples) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= streams) return;
    unsigned long long state = 0x853c49e6748fea9bull + 0x9e3779b97f4a7c15ull * i;
    int count = 0;
    for (int k = 0; k < samples; ++k) {
        const float x = (pcg(state) >> 8) * 0x1p-24f, y = (pcg(state) >> 8) * 0x1p-24f;
        if (x * x + y * y < 1.0f) ++count;
    }
    hits[i] = count;
}

// Each block transforms 1024 complex numbers in shared memory.
extern "C" __global__ void fft_block(const float2* in, const float2* twiddles, float2* out) {
    __shared__ float2 data[1024];
    const int t = threadIdx.x, base = blockIdx.x * 1024;
    for (int i = t; i < 1024; i += 512) data[__brev(i) >> 22] = in[base + i];
    __syncthreads();
    for (int half = 1; half < 1024; half *= 2) {
        const int k = t & (half - 1), low = 2 * t - k, high = low + half;
        const float2 w = twiddles[k * (512 / half)], a = data[low], b = data[high];
        const float2 wb = make_float2(w.x * b.x - w.y * b.y, w.x * b.y + w.y * b.x);
        data[low] = make_float2(a.x + wb.x, a.y + wb.y);
        data[high] = make_float2(a.x - wb.x, a.y - wb.y);
        __syncthreads();
    }
    for (int i = t; i < 1024; i += 512) out[base + i] = data[i];
}

// One stage of a transform of `n` complex numbers, in Stockham's order.
extern "C" __global__ void fft_stage(const float2* in, float2* out, int n, int span) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 2) return;
    const int k = i % span, to = 2 * i - k;
    float sine, cosine;
    sincosf(-3.14159265f * k / span, &sine, &cosine);
    const float2 a = in[i], b = in[i + n / 2];
    const float x = cosine * b.x - sine * b.y, y = cosine * b.y + sine * b.x;
    out[to] = make_float2(a.x + x, a.y + y);
    out[to + span] = make_float2(a.x - x, a.y - y);
}

// Each block factorises a panel of 128 x 16 elements, without pivots.
extern "C" __global__ void lu_panel(float* panels) {
    __shared__ float a[128][17];
    float* panel = panels + blockIdx.x * 128 * 16;
    const int row = threadIdx.x;
    for (int i = threadIdx.x; i < 128 * 16; i += blockDim.x) a[i / 16][i % 16] = panel[i];
    for (int k = 0; k < 16; ++k) {
        __syncthreads();
        if (row > k) {
            const float factor = a[row][k] / a[k][k];
            a[row][k] = factor;
            for (int j = k + 1; j < 16; ++j) a[row][j] -= factor * a[k][j];
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 128 * 16; i += blockDim.x) panel[i] = a[i / 16][i % 16];
}

__device__ void sort_two(unsigned char& a, unsigned char& b) {
    const unsigned char low = min(a, b);
    b = max(a, b);
    a = low;
}

// The median of 3 x 3 pixels. Pixels of the border stay as they are.
extern "C" __global__ void median(const unsigned char* in, unsigned char* out, int width,
                                  int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
    unsigned char v[9];
    for (int j = 0; j < 3; ++j)
        for (int i = 0; i < 3; ++i) v[3 * j + i] = in[(y + j - 1) * width + x + i - 1];
    for (int j = 0; j < 9; j += 3) {
        sort_two(v[j + 1], v[j + 2]);
        sort_two(v[j], v[j + 1]);
        sort_two(v[j + 1], v[j + 2]);
    }
    const int low = max(v[0], max(v[3], v[6])), high = min(v[2], min(v[5], v[8]));
    sort_two(v[4], v[7]);
    const int middle = max(v[1], v[4]) < v[7] ? max(v[1], v[4]) : v[7];
    const int a = min(low, middle), b = max(low, middle);
    out[y * width + x] = max(a, min(b, high));
}

// Gradients of a grey picture; a pixel outside is the nearest one inside.
extern "C" __global__ void sobel(const unsigned char* in, unsigned char* out, int width,
                                 int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    const int left = max(x - 1, 0), right = min(x + 1, width - 1);
    const unsigned char* above = in + max(y - 1, 0) * width;
    const unsigned char* here = in + y * width;
    const unsigned char* below = in + min(y + 1, height - 1) * width;
    const int across =
        above[right] + 2 * here[right] + below[right] - above[left] - 2 * here[left] - below[left];
    const int down =
        below[left] + 2 * below[x] + below[right] - above[left] - 2 * above[x] - above[right];
    out[y * width + x] = min(abs(across) + abs(down), 255);
}

// A vertex of the last level gives its neighbours the next one. -1 is a vertex not yet seen.
extern "C" __global__ void bfs_level(const int* first, const int* neighbours, int* distance,
                                     int vertices, int level) {
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices || distance[v] != level - 1) return;
    for (int k = first[v]; k < first[v + 1]; ++k) {
        const int to = neighbours[k];
        if (distance[to] < 0) distance[to] = level;
    }
}

// A breadth-first search by a queue: new vertices are appended to the next frontier.
extern "C" __global__ void bfs_frontier(const int* first, const int* neighbours,
                                        const int* frontier, int size, int* next, int* next_size,
                                        int* distance, int level) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    const int v = frontier[i];
    for (int k = first[v]; k < first[v + 1]; ++k) {
        const int to = neighbours[k];
        if (distance[to] < 0 && atomicCAS(&distance[to], -1, level) == -1)
            next[atomicAdd(next_size, 1)] = to;
    }
}

// Marks the positions of a text at which a pattern starts.
extern "C" __global__ void find_pattern(const char* text, long long size, const char* pattern,
                                        int length, unsigned char* found) {
    const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i > size - length) return;
    int k = 0;
    while (k < length && text[i + k] == pattern[k]) ++k;
    found[i] = k == length;
}

extern "C" __global__ void half_axpy(const __half2* x, __half2* y, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}

__device__ float block_sum(float value) {
    __shared__ float warps[32];
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) sum += warps[w];
    return sum;
}

// A block has a row of half numbers.
extern "C" __global__ void layer_norm(const __half* in, const float* gain, const float* bias,
                                      __half* out, int columns) {
    const __half* row = in + static_cast<size_t>(blockIdx.x) * columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += __half2float(row[i]);
    const float mean = block_sum(sum) / columns;
    float squares = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        const float off = __half2float(row[i]) - mean;
        squares += off * off;
    }
    const float scale = rsqrtf(block_sum(squares) / columns + 1e-5f);
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        out[static_cast<size_t>(blockIdx.x) * columns + i] =
            __float2half((__half2float(row[i]) - mean) * scale * gain[i] + bias[i]);
}

// A warp has a row of bfloat16 numbers.
extern "C" __global__ void softmax_bf16(const __nv_bfloat16* in, __nv_bfloat16* out, int rows,
                                        int columns) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    in += static_cast<size_t>(row) * columns;
    out += static_cast<size_t>(row) * columns;
    float largest = -INFINITY, sum = 0;
    for (int i = lane; i < columns; i += 32) largest = fmaxf(largest, __bfloat162float(in[i]));
    for (int step = 16; step > 0; step /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
    for (int i = lane; i < columns; i += 32) sum += expf(__bfloat162float(in[i]) - largest);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    for (int i = lane; i < columns; i += 32)
        out[i] = __float2bfloat16(expf(__bfloat162float(in[i]) - largest) / sum);
}

// A warp adds the numbers of a row.
extern "C" __global__ void row_sums(const float* in, float* out, int rows, int columns) {
    const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
    const int lane = threadIdx.x % warpSize;
    if (warp >= rows) return;
    float sum = 0;
    for (int i = lane; i < columns; i += warpSize) sum += in[warp * columns + i];
    for (int step = warpSize / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0) out[warp] = sum;
}

// A group of 16 threads adds the numbers of a segment of 64.
extern "C" __global__ void tile_sums(const int* in, int* out, int segments) {
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int segment = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (segment >= segments) return;
    int sum = 0;
    for (int i = tile.thread_rank(); i < 64; i += tile.size()) sum += in[segment * 64 + i];
    sum = cg::reduce(tile, sum, cg::plus<int>());
    if (tile.thread_rank() == 0) out[segment] = sum;
}

// An even number of steps of the heat equation on a rod, by a grid that waits after each.
extern "C" __global__ void heat_steps(float* rod, float* other, int n, int steps) {
    const auto grid = cg::this_grid();
    float *from = rod, *to = other;
    for (int step = 0; step < steps; ++step) {
        for (auto i = grid.thread_rank(); i < n; i += grid.size())
            to[i] = i == 0 || i == n - 1
                        ? from[i]
                        : from[i] + 0.25f * (from[i - 1] - 2.0f * from[i] + from[i + 1]);
        grid.sync();
        float* const before = from;
        from = to;
        to = before;
    }
}

extern "C" __global__ void permute(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[index[i]];
}

// All threads count in the same eight words of global memory.
extern "C" __global__ void few_bins(const unsigned* in, unsigned* bins, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[in[i] % 8], 1u);
}
