// tests/cpu/child_grids.cu - kernels that launch kernels. Each extern "C" kernel is one thread that
// launches others, unless its comment says more.
#include <cuda_runtime.h>

#ifdef CUDA_FORCE_CDP1_IF_SUPPORTED
__global__ void square(int* values) { values[threadIdx.x] *= values[threadIdx.x]; }

// Waits for its children, as CDP1 permits. The sums of all blocks are in `sums`.
extern "C" __global__ void sum_of_squares(int* values, int* sums) {
    int* const mine = values + blockIdx.x * 32;
    if (threadIdx.x == 0) {
        square<<<1, 32>>>(mine);
        cudaDeviceSynchronize();
        int sum = 0;
        for (int n = 0; n < 32; ++n) sum += mine[n];
        sums[blockIdx.x] = sum;
    }
}

__global__ void deeper(int* total, int level) {
    atomicAdd(total, 1);
    if (level == 0 || threadIdx.x != 0) return;
    deeper<<<1, 2>>>(total, level - 1);
    deeper<<<1, 2>>>(total, level - 1);
    cudaDeviceSynchronize();
}
extern "C" __global__ void tree(int* total, int level) {
    deeper<<<1, 2>>>(total, level);
    cudaDeviceSynchronize();
    total[1] = total[0];
}
#else

// Appends a number to a list, whose first word counts them.
__global__ void append(int* list, int number) { list[1 + atomicAdd(list, 1)] = number; }

extern "C" __global__ void ordered(int* list) {
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 100);
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 101);
    for (int n = 0; n < 4; ++n) append<<<1, 1>>>(list, n);
}

// One level of tail launches in another.
extern "C" __global__ void tails(int* list, int level) {
    append<<<1, 1>>>(list, 10 * level);
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 10 * level + 1);
    if (level < 2) tails<<<1, 1, 0, cudaStreamTailLaunch>>>(list, level + 1);
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 10 * level + 2);
}

// Launches itself `rounds` times.
extern "C" __global__ void countdown(int* counter, int rounds) {
    ++*counter;
    if (rounds > 1) countdown<<<1, 1, 0, cudaStreamTailLaunch>>>(counter, rounds - 1);
}

// Each block is a thread: the children of block b append 10 * b and 10 * b + 1.
extern "C" __global__ void blocks(int* list) {
    append<<<1, 1>>>(list, 10 * blockIdx.x);
    append<<<1, 1>>>(list, 10 * blockIdx.x + 1);
}

// The second stream waits for the first, in which work was launched later.
extern "C" __global__ void events(int* list) {
    cudaStream_t first, second;
    cudaEvent_t event;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    append<<<1, 1, 0, first>>>(list, 1);
    append<<<1, 1, 0, first>>>(list, 2);
    cudaEventRecord(event, first);
    cudaStreamWaitEvent(second, event, 0);
    append<<<1, 1, 0, second>>>(list, 3);
    cudaEventDestroy(event);
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    list[20] = cudaGetLastError();
}

__global__ void copy_if(int* to, const int* from, int wanted) {
    *to = *from == wanted ? wanted : -*from;
}

// Fills and copies in the order of the stream: of rows of 16 bytes, the first 8.
extern "C" __global__ void moves(char* memory) {
    cudaMemsetAsync(memory, 1, 64, 0);
    cudaMemset2DAsync(memory, 16, 2, 8, 4, 0);
    cudaMemcpyAsync(memory + 64, memory, 64, cudaMemcpyDeviceToDevice, 0);
    cudaMemcpy2DAsync(memory + 128, 8, memory, 16, 8, 4, cudaMemcpyDefault, 0);
    copy_if<<<1, 1>>>(reinterpret_cast<int*>(memory + 256), reinterpret_cast<int*>(memory + 128),
                      0x02020202);
    cudaMemcpy3DParms box = {};
    box.srcPtr.ptr = memory;
    box.srcPtr.pitch = box.dstPtr.pitch = 16;
    box.srcPtr.ysize = box.dstPtr.ysize = 2;
    box.srcPos.x = 8;
    box.dstPtr.ptr = memory + 192;
    box.extent.width = 8;
    box.extent.height = box.extent.depth = 2;
    box.kind = cudaMemcpyDeviceToDevice;
    cudaMemcpy3DAsync(&box, 0);
    cudaExtent extent;
    extent.width = 2;
    extent.height = extent.depth = 2;
    box.dstPtr.ptr = memory + 192;
    cudaMemset3DAsync(box.dstPtr, 7, extent, 0);
    *reinterpret_cast<int*>(memory + 260) = cudaGetLastError();
}

// Quicksort: one thread partitions, and sorts short ranges itself.
extern "C" __global__ void quicksort(unsigned* values, int left, int right, int depth) {
    if (depth >= 16 || right - left <= 8) {
        for (int i = left + 1; i <= right; ++i)
            for (int k = i; k > left && values[k - 1] > values[k]; --k) {
                const unsigned value = values[k];
                values[k] = values[k - 1];
                values[k - 1] = value;
            }
        return;
    }
    const unsigned pivot = values[(left + right) / 2];
    int low = left, high = right;
    while (low <= high) {
        while (values[low] < pivot) ++low;
        while (values[high] > pivot) --high;
        if (low > high) break;
        const unsigned value = values[low];
        values[low++] = values[high];
        values[high--] = value;
    }
    for (const bool upper : {false, true}) {
        const int from = upper ? low : left, to = upper ? right : high;
        if (from >= to) continue;
        cudaStream_t stream;
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        quicksort<<<1, 1, 0, stream>>>(values, from, to, depth + 1);
        cudaStreamDestroy(stream);
    }
}

// Quadtree: counts points by cells. A cell of more than `most` points is divided by four blocks.
struct Cell {
    float x, y, size;
    int path;  // base 4, after a leading 1
};
extern "C" __global__ void quadtree(const float2* points, int count, Cell cell, int most,
                                    int* counts) {
    __shared__ int inside;
    const float half = cell.size / 2;
    if (cell.path != 1) {  // a block for each quarter
        cell.x += blockIdx.x & 1 ? cell.size : 0;
        cell.y += blockIdx.x & 2 ? cell.size : 0;
        cell.path += blockIdx.x;
    }
    if (threadIdx.x == 0) inside = 0;
    __syncthreads();
    for (int n = threadIdx.x; n < count; n += blockDim.x) {
        const float x = points[n].x - cell.x, y = points[n].y - cell.y;
        if (x >= 0 && y >= 0 && x < cell.size && y < cell.size) atomicAdd(&inside, 1);
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    counts[cell.path] = inside;
    if (inside <= most || cell.path >= 256) return;
    quadtree<<<4, blockDim.x>>>(points, count, Cell{cell.x, cell.y, half, cell.path * 4}, most,
                                counts);
}

// Bezier curves: each thread takes memory for the points of its curve, by its curvature, and
// launches the kernel that computes them. `release` frees the memory.
struct Curve {
    float2 controls[3];
    float2* points;
    int count, error;
};
__global__ void tessellate(Curve* curve) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= curve->count) return;
    const float u = static_cast<float>(n) / static_cast<float>(curve->count - 1), v = 1 - u;
    const float a = v * v, b = 2 * u * v, c = u * u;
    const float2* const p = curve->controls;
    curve->points[n] =
        make_float2(a * p[0].x + b * p[1].x + c * p[2].x, a * p[0].y + b * p[1].y + c * p[2].y);
}
extern "C" __global__ void bezier(Curve* curves, int count) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= count) return;
    Curve& curve = curves[n];
    const float2* const p = curve.controls;
    const float bend = fabsf(p[0].y - 2 * p[1].y + p[2].y);
    curve.count = min(max(static_cast<int>(bend * 16), 4), 64);
    curve.error = cudaMalloc(reinterpret_cast<void**>(&curve.points), curve.count * sizeof(float2));
    if (curve.error) return;
    tessellate<<<(curve.count + 31) / 32, 32>>>(&curve);
    curve.error = cudaGetLastError();
}
extern "C" __global__ void read_curves(const Curve* curves, int count, float2* points) {
    for (int c = 0; c < count; ++c) {
        for (int n = 0; n < curves[c].count; ++n) points[c * 64 + n] = curves[c].points[n];
        cudaFree(curves[c].points);
    }
}

// Errors.
__global__ void empty() {}
__global__ void __launch_bounds__(64) small() {}
extern "C" __global__ void refusals(int* errors) {
    empty<<<0, 1>>>();
    errors[0] = cudaPeekAtLastError();
    errors[1] = cudaGetLastError();
    errors[2] = cudaGetLastError();
    empty<<<1, 2048>>>();
    errors[3] = cudaGetLastError();
    small<<<1, 65>>>();
    errors[4] = cudaGetLastError();
    cudaStream_t stream;
    errors[5] = cudaStreamCreateWithFlags(&stream, cudaStreamDefault);
    cudaEvent_t event;
    errors[6] = cudaEventCreateWithFlags(&event, cudaEventDefault);
    errors[7] = cudaMemcpyAsync(errors, errors + 1, 4, cudaMemcpyHostToDevice, 0);
    errors[8] = cudaGetDevice(errors + 9);
    void* memory = errors;
    errors[10] = cudaMalloc(&memory, size_t(1) << 40);
    errors[12] = cudaMalloc(&memory, 0);
    errors[13] = cudaStreamCreateWithFlags(&stream, 77);
    const char* const name = cudaGetErrorName(cudaErrorInvalidValue);
    const char* const text = cudaGetErrorString(cudaSuccess);
    errors[11] = name[4] == 'E' && text[0] == 'n';
    cudaGetLastError();
}
extern "C" __global__ void properties(int* out) {
    cudaFuncAttributes about;
    out[0] = cudaFuncGetAttributes(&about, small);
    out[1] = about.maxThreadsPerBlock;
    out[2] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(out + 3, small, 64, 0);
    out[4] = cudaDeviceGetAttribute(out + 5, cudaDevAttrWarpSize, 0);
    size_t limit = 0;
    out[6] = cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount);
    out[7] = static_cast<int>(limit);
    out[8] = cudaGetDeviceCount(out + 9);
    out[10] = cudaRuntimeGetVersion(out + 11);
}
extern "C" __global__ void nest(int* out, int level, int last) {
    out[0] = max(out[0], level);
    if (level == last) return;
    nest<<<1, 1>>>(out, level + 1, last);
    const int error = cudaGetLastError();
    if (error) out[1] = error;
}
extern "C" __global__ void pending(int* out, int count) {
    for (int n = 0; n < count; ++n) empty<<<1, 1>>>();
    out[0] = cudaGetLastError();
}
extern "C" __global__ void pending_tails(int* out, int count) {
    for (int n = 0; n < count; ++n) empty<<<1, 1, 0, cudaStreamTailLaunch>>>();
    out[0] = cudaGetLastError();
}

__global__ void stray(int* nowhere) { *nowhere = 1; }
extern "C" __global__ void launch_stray(int* list) {
    stray<<<1, 1>>>(reinterpret_cast<int*>(8));
    append<<<1, 1>>>(list, 1);
}
__global__ void leave_unwritten(const int* memory, int* out) { *out = *memory; }
extern "C" __global__ void launch_unwritten(int* out) {
    int* memory;
    cudaMalloc(&memory, 4);
    leave_unwritten<<<1, 1>>>(memory, out);
}
#endif
