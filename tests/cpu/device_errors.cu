// tests/cpu/device_errors.cu - wrong calls of the device runtime. `ask` makes one call and stores
// its error.
#include <cuda_runtime.h>

__global__ void empty() {}
__global__ void __launch_bounds__(64) small() {}

// The error of a launch through its parameter buffer.
__device__ int launch(const void* kernel, dim3 grid, dim3 block, unsigned shared) {
    void* const buffer = cudaGetParameterBufferV2(const_cast<void*>(kernel), grid, block, shared);
    const int error = cudaPeekAtLastError();
    return buffer ? cudaLaunchDeviceV2(buffer, 0) : error;
}
__device__ int launch_in(unsigned long long stream) {
    const auto kernel = reinterpret_cast<void*>(empty);
    return cudaLaunchDeviceV2(cudaGetParameterBufferV2(kernel, 1, 1, 0),
                              reinterpret_cast<cudaStream_t>(stream));
}

// The cases have the order of those in test_device_errors.py.
__device__ int answer(int which, char* memory, char* host) {
    const auto no_stream = reinterpret_cast<cudaStream_t>(77ull << 32);
    const auto no_event = reinterpret_cast<cudaEvent_t>(77ull << 32);
    const void* const kernel = reinterpret_cast<const void*>(empty);
    cudaStream_t stream;
    cudaEvent_t event;
    void* allocated;
    int number;
    size_t limit;
    switch (which) {
        case 0:
            return launch(kernel, 1, 1, 0);
        case 1:
            return launch(kernel, dim3(0), 1, 0);
        case 2:
            return launch(kernel, 1, dim3(0), 0);
        case 3:
            return launch(kernel, 1, 2048, 0);
        case 4:
            return launch(kernel, 1, dim3(1, 1, 65), 0);
        case 5:
            return launch(kernel, dim3(1, 65536), 1, 0);
        case 6:
            return launch(kernel, 1, 1, 400 << 10);
        case 7:
            return launch(reinterpret_cast<const void*>(small), 1, 65, 0);
        case 8:
            return launch(nullptr, 1, 1, 0);
        case 9:
            return launch_in(77ull << 32);
        case 10:
            return cudaStreamCreateWithFlags(&stream, cudaStreamDefault);
        case 11:
            return cudaStreamCreateWithFlags(nullptr, cudaStreamNonBlocking);
        case 12:
            return cudaEventCreateWithFlags(&event, cudaEventDefault);
        case 13:
            return cudaEventCreateWithFlags(&event, cudaEventBlockingSync);
        case 14:
            return cudaStreamDestroy(no_stream);
        case 15:
            return cudaStreamDestroy(0);
        case 16:
            return cudaEventDestroy(no_event);
        case 17:
            return cudaEventRecord(no_event, 0);
        case 18:
            return cudaStreamWaitEvent(0, no_event, 0);
        case 19:
            cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
            return cudaEventRecord(event, cudaStreamTailLaunch);
        case 20:
            cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
            return cudaStreamWaitEvent(cudaStreamFireAndForget, event, 0);
        case 21:
            return cudaMemcpyAsync(memory, host, 4, cudaMemcpyHostToDevice, 0);
        case 22:
            return cudaMemcpyAsync(host, memory, 4, cudaMemcpyDeviceToHost, 0);
        case 23:
            return cudaMemcpy2DAsync(memory, 2, memory + 64, 16, 4, 2, cudaMemcpyDefault, 0);
        case 24:
            return cudaMemset2DAsync(memory, 2, 1, 4, 2, 0);
        case 25:
            return cudaMalloc(&allocated, size_t{1} << 40);
        case 26:
            return cudaFree(nullptr);
        case 27:
            return cudaDeviceGetAttribute(&number, cudaDevAttrWarpSize, 99);
        case 28:
            return cudaDeviceGetAttribute(&number, static_cast<cudaDeviceAttr>(9999), 0);
        case 29:
            return cudaDeviceGetLimit(&limit, static_cast<cudaLimit>(99));
        case 30:
            return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&number, empty, 0, 0);
        case 31: {
            cudaFuncAttributes attributes;
            return cudaFuncGetAttributes(&attributes, static_cast<const void*>(nullptr));
        }
        default:
            return -1;
    }
}

// The error of the call, and the last error after it.
extern "C" __global__ void ask(int* answers, int which, char* memory, char* host) {
    answers[0] = answer(which, memory, host);
    answers[1] = cudaGetLastError();
}
