// tests/cudart/cuda/streams.cu - streams, events, callbacks, attributes of kernels, occupancy,
// cooperative launches, printf, and calls of the runtime at exit.
#include <cooperative_groups.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.cuh"

__global__ void set(int* values, int value, int count) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count) values[n] = value;
}

__global__ void add(int* values, int by, int count) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count) values[n] += by;
}

__global__ void wait_for(volatile int* flag) {
    while (*flag == 0) {
    }
}

__global__ void say(int number) { printf("number %d of block %d\n", number, blockIdx.x); }

template <class T>
__global__ void __launch_bounds__(256) reverse(T* values) {
    extern __shared__ unsigned char memory[];
    T* const shared = reinterpret_cast<T*>(memory);
    shared[threadIdx.x] = values[threadIdx.x];
    __syncthreads();
    values[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

// Each block reads what its neighbour has written before the grid's barrier.
__global__ void rotate(int* from, int* to, int count) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n < count) from[n] = n;
    cooperative_groups::this_grid().sync();
    if (n < count) to[n] = from[(n + blockDim.x) % count];
}

static const int count = 1000, block = 256, grid = (count + block - 1) / block;

// A stream whose first kernel runs until `release`.
struct Blocked {
    explicit Blocked(cudaStream_t stream) {
        CUDA(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocDefault));
        *flag = 0;
        wait_for<<<1, 1, 0, stream>>>(flag);
        CUDA(cudaGetLastError());
    }
    void release() { *static_cast<volatile int*>(flag) = 1; }
    int* flag = nullptr;
};

static std::vector<int> read(const int* values, cudaStream_t stream) {
    std::vector<int> found(count);
    CUDA(
        cudaMemcpyAsync(found.data(), values, count * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    return found;
}

static void properties() {
    int devices = 0, device = -1;
    CUDA(cudaGetDeviceCount(&devices));
    CHECK(devices >= 1);
    CUDA(cudaGetDevice(&device));
    CHECK(device == 0);
    cudaDeviceProp found{};
    CUDA(cudaGetDeviceProperties(&found, device));
    CHECK(std::strlen(found.name) > 0 && found.totalGlobalMem > 0 && found.warpSize == 32);
    CHECK(found.maxThreadsPerBlock == 1024 && found.maxThreadsDim[2] == 64);
    CHECK(found.maxGridSize[0] == 2147483647 && found.maxGridSize[1] == 65535);
    int value = 0;
    const auto attribute = [&](cudaDeviceAttr which) {
        CUDA(cudaDeviceGetAttribute(&value, which, device));
        return value;
    };
    CHECK(found.major == attribute(cudaDevAttrComputeCapabilityMajor));
    CHECK(found.multiProcessorCount == attribute(cudaDevAttrMultiProcessorCount));
    CHECK(found.sharedMemPerBlockOptin ==
          static_cast<size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)));
    CHECK(found.clusterLaunch == attribute(cudaDevAttrClusterLaunch));
    int runtime = 0, driver = 0;
    CUDA(cudaRuntimeGetVersion(&runtime));
    CUDA(cudaDriverGetVersion(&driver));
    CHECK(runtime >= 12000 && driver >= 12000);
    char id[16];
    CUDA(cudaDeviceGetPCIBusId(id, sizeof id, device));
    int again = -1;
    CUDA(cudaDeviceGetByPCIBusId(&again, id));
    CHECK(again == device);
    CHECK(cudaSetDevice(devices) == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(std::string(cudaGetErrorName(cudaErrorInvalidDevice)) == "cudaErrorInvalidDevice");
    CHECK(std::strlen(cudaGetErrorString(cudaErrorInvalidDevice)) > 0);
}

static void priorities() {
    int least = 0, greatest = 0;
    CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(greatest <= least);
    for (int priority = greatest; priority <= least; ++priority) {
        cudaStream_t stream = nullptr;
        CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
        int found = 1;
        unsigned flags = 0;
        CUDA(cudaStreamGetPriority(stream, &found));
        CUDA(cudaStreamGetFlags(stream, &flags));
        CHECK(found == priority && flags == cudaStreamNonBlocking);
        int* values = nullptr;
        CUDA(cudaMalloc(&values, count * sizeof(int)));
        set<<<grid, block, 0, stream>>>(values, priority, count);
        for (int value : read(values, stream)) CHECK(value == priority);
        CUDA(cudaFree(values));
        CUDA(cudaStreamDestroy(stream));
    }
}

static void events() {
    cudaStream_t one = nullptr, two = nullptr;
    CUDA(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    cudaEvent_t start = nullptr, end = nullptr, order = nullptr;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&end));
    CUDA(cudaEventCreateWithFlags(&order, cudaEventDisableTiming));
    int* values = nullptr;
    CUDA(cudaMalloc(&values, count * sizeof(int)));
    CUDA(cudaEventRecord(start, one));
    Blocked blocked(one);
    set<<<grid, block, 0, one>>>(values, 40, count);
    CUDA(cudaEventRecord(order, one));
    CUDA(cudaStreamWaitEvent(two, order));
    add<<<grid, block, 0, two>>>(values, 2, count);
    CUDA(cudaEventRecord(end, two));
    CHECK(cudaEventQuery(end) == cudaErrorNotReady);
    CHECK(cudaStreamQuery(two) == cudaErrorNotReady);
    CHECK(cudaGetLastError() == cudaSuccess);
    blocked.release();
    CUDA(cudaEventSynchronize(end));
    CUDA(cudaEventQuery(end));
    float milliseconds = -1;
    CUDA(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds > 0);
    CHECK(cudaEventElapsedTime(&milliseconds, start, order) == cudaErrorInvalidResourceHandle);
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    for (int value : read(values, two)) CHECK(value == 42);
    CUDA(cudaFree(values));
    CUDA(cudaFreeHost(blocked.flag));
    for (cudaEvent_t event : {start, end, order}) CUDA(cudaEventDestroy(event));
    CUDA(cudaStreamDestroy(one));
    CUDA(cudaStreamDestroy(two));
}

// A kernel, a host function and a callback run in the order of their stream.
static void host_functions() {
    struct Seen {
        int* values;
        int at_function = 0, at_callback = 0;
    } seen{};
    CUDA(cudaMallocManaged(&seen.values, count * sizeof(int)));
    for (cudaStream_t stream : {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread}) {
        seen.at_function = seen.at_callback = 0;
        set<<<grid, block, 0, stream>>>(seen.values, 1, count);
        const auto function = [](void* data) {
            auto& it = *static_cast<Seen*>(data);
            it.at_function = it.values[0];
        };
        CUDA(cudaLaunchHostFunc(stream, function, &seen));
        add<<<grid, block, 0, stream>>>(seen.values, 1, count);
        const auto callback = [](cudaStream_t, cudaError_t status, void* data) {
            auto& it = *static_cast<Seen*>(data);
            it.at_callback = status == cudaSuccess ? it.values[0] : -1;
        };
        CUDA(cudaStreamAddCallback(stream, callback, &seen, 0));
        CUDA(cudaStreamSynchronize(stream));
        CHECK(seen.at_function == 1 && seen.at_callback == 2);
    }
    CUDA(cudaFree(seen.values));
}

// Each thread's own default stream does not wait for those of others.
static void threads() {
    Blocked blocked(cudaStreamPerThread);
    std::atomic<int> right{0};
    std::vector<std::thread> all;
    for (int n = 0; n < 4; ++n)
        all.emplace_back([n, &right] {
            int* values = nullptr;
            CUDA(cudaMalloc(&values, count * sizeof(int)));
            set<<<grid, block, 0, cudaStreamPerThread>>>(values, n, count);
            add<<<grid, block, 0, cudaStreamPerThread>>>(values, 10, count);
            bool same = true;
            for (int value : read(values, cudaStreamPerThread)) same &= value == n + 10;
            right += same;
            CHECK(cudaGetLastError() == cudaSuccess);
        });
    for (std::thread& thread : all) thread.join();
    CHECK(right == 4);
    CHECK(cudaStreamQuery(cudaStreamPerThread) == cudaErrorNotReady);
    blocked.release();
    CUDA(cudaStreamSynchronize(cudaStreamPerThread));
    CUDA(cudaFreeHost(blocked.flag));
}

struct DoubleOfEachThread {
    __host__ __device__ size_t operator()(int threads) const { return threads * sizeof(double); }
};

static void kernels() {
    cudaFuncAttributes found{};
    CUDA(cudaFuncGetAttributes(&found, reverse<double>));
    CHECK(found.maxThreadsPerBlock == 256 && found.sharedSizeBytes == 0);
    CHECK(found.ptxVersion == 75 && found.numRegs >= 0);
    int most = 0, threads = 0;
    CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CUDA(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    double* values = nullptr;
    CUDA(cudaMallocManaged(&values, 256 * sizeof(double)));
    for (int n = 0; n < 256; ++n) values[n] = n;
    reverse<<<1, 256, most>>>(values);
    if (most > 48 << 10) CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CUDA(cudaFuncSetAttribute(reverse<double>, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    CUDA(cudaFuncSetCacheConfig(reverse<double>, cudaFuncCachePreferShared));
    reverse<<<1, 256, most>>>(values);
    CUDA(cudaGetLastError());
    CUDA(cudaDeviceSynchronize());
    for (int n = 0; n < 256; ++n) CHECK(values[n] == 255 - n);
    reverse<<<1, 257>>>(values);
    CHECK(cudaGetLastError() != cudaSuccess);
    CUDA(cudaFree(values));

    const char* name = nullptr;
    CUDA(cudaFuncGetName(&name, reinterpret_cast<const void*>(&set)));
    CHECK(std::string(name).find("set") != std::string::npos);
    cudaKernel_t kernel = nullptr;
    CUDA(cudaGetKernel(&kernel, set));
    CHECK(kernel != nullptr);

    int blocks = 0, best_grid = 0, best_block = 0;
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, set, block, 0));
    CHECK(blocks >= 1 && blocks <= threads / block);
    CUDA(cudaOccupancyMaxPotentialBlockSize(&best_grid, &best_block, reverse<double>, 0, 0));
    CHECK(best_block >= 32 && best_block <= 256 && best_grid >= 1);
    CUDA(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&best_grid, &best_block, reverse<double>,
                                                        DoubleOfEachThread()));
    CHECK(best_block >= 32 && best_block <= 256 && best_grid >= 1);
    size_t shared = 0;
    CUDA(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, set, 1, block));
    CHECK(shared > 0);
}

static void cooperative() {
    int *from = nullptr, *to = nullptr, n = grid * block;
    CUDA(cudaMalloc(&from, n * sizeof(int)));
    CUDA(cudaMalloc(&to, n * sizeof(int)));
    void* arguments[] = {&from, &to, &n};
    cudaStream_t stream = nullptr;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaLaunchCooperativeKernel(rotate, dim3(grid), dim3(block), arguments, 0, stream));
    const std::vector<int> found = read(to, stream);
    for (int at = 0; at < count; ++at) CHECK(found[at] == (at + block) % n);
    CHECK(cudaLaunchCooperativeKernel(rotate, dim3(1 << 20), dim3(block), arguments, 0, stream) ==
          cudaErrorCooperativeLaunchTooLarge);
    CHECK(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);

    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA(cudaMemsetAsync(to, 0, n * sizeof(int), stream));
    CUDA(cudaLaunchKernelEx(&config, rotate, from, to, n));
    const std::vector<int> again = read(to, stream);
    for (int at = 0; at < count; ++at) CHECK(again[at] == (at + block) % n);
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(from));
    CUDA(cudaFree(to));
}

// Returns the output of kernels, which does not reach the program's standard output.
template <class Wait>
static std::string printed(Wait wait) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    std::fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    say<<<2, 1>>>(7);
    const cudaError_t launched = cudaGetLastError();
    wait();
    std::fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(ends[1]);
    CUDA(launched);
    std::string text(1000, '\0');
    const ssize_t bytes = ::read(ends[0], &text[0], text.size());
    close(ends[0]);
    text.resize(bytes > 0 ? static_cast<size_t>(bytes) : 0);
    return text;
}

static void output() {
    const auto event = [] {
        cudaEvent_t made = nullptr;
        CUDA(cudaEventCreate(&made));
        CUDA(cudaEventRecord(made));
        CUDA(cudaEventSynchronize(made));
        CUDA(cudaEventDestroy(made));
    };
    for (const std::string& text : {printed([] { CUDA(cudaDeviceSynchronize()); }),
                                    printed([] { CUDA(cudaStreamSynchronize(nullptr)); }),
                                    printed(event), printed([] { CUDA(cudaDeviceReset()); })}) {
        CHECK(text.size() == 2 * std::strlen("number 7 of block 0\n"));
        CHECK(text.find("number 7 of block 0\n") != std::string::npos);
        CHECK(text.find("number 7 of block 1\n") != std::string::npos);
    }
}

// Its destructor runs after main: calls succeed or say that the runtime ends.
static struct AtExit {
    ~AtExit() {
        const auto expect = [](cudaError_t result) {
            if (result == cudaSuccess || result == cudaErrorCudartUnloading) return;
            std::printf("at exit: error %d\n", result);
            std::fflush(stdout);
            _exit(1);
        };
        expect(cudaStreamSynchronize(nullptr));
        expect(cudaFree(values));
        expect(cudaStreamDestroy(stream));
        expect(cudaEventDestroy(event));
        expect(cudaDeviceSynchronize());
        cudaGetLastError();
    }
    int* values = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
} at_exit;

int main() {
    properties();
    priorities();
    events();
    host_functions();
    threads();
    kernels();
    cooperative();
    output();
    CUDA(cudaMalloc(&at_exit.values, 4));
    CUDA(cudaStreamCreate(&at_exit.stream));
    CUDA(cudaEventCreate(&at_exit.event));
    std::puts("ok");
}
