// benchmarks/eight.cu - eight kernels of usual programs, which measure the CPU device.
// eight.cpp has the same work as loops of one thread.

extern "C" __global__ void mandelbrot(float* out, int n, int iterations) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    const float cr = -2.0f + 3.0f * x / n, ci = -1.5f + 3.0f * y / n;
    float zr = 0, zi = 0;
    int k = 0;
    for (; k < iterations && zr * zr + zi * zi <= 4.0f; ++k) {
        const float t = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = t;
    }
    out[y * n + x] = k;
}

extern "C" __global__ void saxpy(const float* x, const float* y, float* out, float a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}

extern "C" __global__ void convolution(const float* in, const float* weights, float* out, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 2 || y < 2 || x >= n - 2 || y >= n - 2) return;
    float sum = 0;
#pragma unroll
    for (int j = -2; j <= 2; ++j)
#pragma unroll
        for (int i = -2; i <= 2; ++i) sum += weights[(j + 2) * 5 + i + 2] * in[(y + j) * n + x + i];
    out[y * n + x] = sum;
}

extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][16], right[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int tile = 0; tile < n; tile += 16) {
        left[y][x] = a[row * n + tile + x];
        right[y][x] = b[(tile + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void reduction(const float* in, float* out, int n) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += in[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void histogram(const unsigned* in, unsigned* out, int n) {
    __shared__ unsigned bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&bins[in[i] & 255], 1u);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

// Each block sorts its 256 keys, a bit at a time.
extern "C" __global__ void radix(const unsigned* in, unsigned* out) {
    __shared__ unsigned keys[256], zeros[8];
    const unsigned t = threadIdx.x, lane = t & 31, warp = t >> 5;
    unsigned key = in[blockIdx.x * 256 + t];
    for (int bit = 0; bit < 32; ++bit) {
        const unsigned mine = (key >> bit) & 1;
        const unsigned ballot = __ballot_sync(~0u, mine == 0);
        if (lane == 0) zeros[warp] = __popc(ballot);
        __syncthreads();
        unsigned before = 0, all = 0;
        for (unsigned w = 0; w < 8; ++w) {
            const unsigned count = zeros[w];
            before += w < warp ? count : 0;
            all += count;
        }
        before += __popc(ballot & ((1u << lane) - 1));
        const unsigned place = mine ? all + t - before : before;
        keys[place] = key;
        __syncthreads();
        key = keys[t];
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = key;
}

extern "C" __global__ void bodies(const float4* in, float4* out, int n) {
    __shared__ float4 tile[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 me = in[i];
    float ax = 0, ay = 0, az = 0;
    for (int begin = 0; begin < n; begin += 256) {
        tile[threadIdx.x] = in[begin + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < 256; ++j) {
            const float4 it = tile[j];
            const float x = it.x - me.x, y = it.y - me.y, z = it.z - me.z;
            const float square = x * x + y * y + z * z + 1e-3f;
            const float inverse = 1.0f / sqrtf(square);
            const float force = it.w * inverse * inverse * inverse;
            ax += x * force;
            ay += y * force;
            az += z * force;
        }
        __syncthreads();
    }
    out[i] = make_float4(ax, ay, az, 0);
}
