// examples/nvrtc_saxpy/saxpy.cpp - what nvrtc_saxpy.py does, in C++ on NVRTC and the driver API.
//   g++ -O3 -ffp-contract=off -std=c++17 saxpy.cpp -I$CUDA_HOME/include -L$CUDA_HOME/lib64 -lnvrtc
//   -lcuda -o saxpy
#include <cuda.h>
#include <nvrtc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

const char* const source = R"(
extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* out, size_t n) {
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
)";
constexpr unsigned threads = 512;

void check(CUresult code, const char* call) {
    if (code == CUDA_SUCCESS) return;
    const char* name = nullptr;
    cuGetErrorName(code, &name);
    std::fprintf(stderr, "%s: %s\n", call, name ? name : "unknown error");
    std::exit(1);
}

void check(nvrtcResult code, const char* call) {
    if (code == NVRTC_SUCCESS) return;
    std::fprintf(stderr, "%s: %s\n", call, nvrtcGetErrorString(code));
    std::exit(1);
}

#define CALL(function, ...) check(function(__VA_ARGS__), #function)

std::string compiled() {
    nvrtcProgram program = nullptr;
    CALL(nvrtcCreateProgram, &program, source, "saxpy.cu", 0, nullptr, nullptr);
    const char* options[] = {"--fmad=false", "--gpu-architecture=compute_75"};
    CALL(nvrtcCompileProgram, program, 2, options);
    std::size_t size = 0;
    CALL(nvrtcGetPTXSize, program, &size);
    std::string ptx(size, '\0');
    CALL(nvrtcGetPTX, program, ptx.data());
    CALL(nvrtcDestroyProgram, &program);
    return ptx;
}

// A multiplication and an addition, each rounded: -ffp-contract=off keeps the compiler from fusing
// them.
bool is_saxpy(const float* out, float a, const float* x, const float* y, std::size_t n) {
    unsigned wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong |= out[i] != a * x[i] + y[i];
    return wrong == 0;
}

}  // namespace

int main(int count, char** arguments) {
    const std::size_t n = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 512 * 32768;
    float a = 2.5f;
    std::vector<float> host_x(n), host_y(n), host_out(n);
    for (std::size_t i = 0; i < n; ++i) {
        host_x[i] = float(i) / float(n);
        host_y[i] = 1 - host_x[i];
    }

    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    CUdevice device = 0;
    CUcontext context = nullptr;
    char name[256];
    CALL(cuInit, 0);
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDeviceGetName, name, sizeof name, device);
    std::printf("device: %s\n", name);
    CALL(cuDevicePrimaryCtxRetain, &context, device);
    CALL(cuCtxSetCurrent, context);

    const std::string ptx = compiled();
    CUmodule module = nullptr;
    CUfunction saxpy = nullptr;
    CALL(cuModuleLoadDataEx, &module, ptx.data(), 0, nullptr, nullptr);
    CALL(cuModuleGetFunction, &saxpy, module, "saxpy");

    CUstream stream = nullptr;
    CUdeviceptr x = 0, y = 0, out = 0;
    const std::size_t bytes = n * sizeof(float);
    CALL(cuStreamCreate, &stream, CU_STREAM_DEFAULT);
    for (CUdeviceptr* each : {&x, &y, &out}) CALL(cuMemAllocAsync, each, bytes, stream);
    CALL(cuMemcpyHtoDAsync, x, host_x.data(), bytes, stream);
    CALL(cuMemcpyHtoDAsync, y, host_y.data(), bytes, stream);
    const auto blocks = unsigned((n + threads - 1) / threads);
    std::size_t elements = n;
    void* parameters[] = {&a, &x, &y, &out, &elements};
    const auto launch = [&] {
        CALL(cuLaunchKernel, saxpy, blocks, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr);
    };
    launch();
    CALL(cuMemcpyDtoHAsync, host_out.data(), out, bytes, stream);
    CALL(cuStreamSynchronize, stream);
    const bool right = is_saxpy(host_out.data(), a, host_x.data(), host_y.data(), n);
    const std::chrono::duration<double, std::milli> application = Clock::now() - start;
    if (!right) return std::fprintf(stderr, "the result is wrong\n"), 1;

    // All are queued before the first is waited for: so the device goes from one to the next, and
    // between two events is a kernel, without the time that the host takes to launch it.
    std::vector<float> times(20);
    std::vector<CUevent> events(2 * times.size());
    for (CUevent& each : events) CALL(cuEventCreate, &each, CU_EVENT_DEFAULT);
    for (std::size_t i = 0; i < events.size(); i += 2) {
        CALL(cuEventRecord, events[i], stream);
        launch();
        CALL(cuEventRecord, events[i + 1], stream);
    }
    CALL(cuStreamSynchronize, stream);
    for (std::size_t i = 0; i < times.size(); ++i)
        CALL(cuEventElapsedTime, &times[i], events[2 * i], events[2 * i + 1]);
    std::sort(times.begin(), times.end());
    std::printf("%zu elements, %u blocks of %u threads, checked\n", n, blocks, threads);
    std::printf("kernel %.4f ms\n", double(times[9] + times[10]) / 2);
    std::printf("application %.2f ms\n", application.count());

    for (CUdeviceptr each : {x, y, out}) CALL(cuMemFreeAsync, each, stream);
    for (CUevent each : events) CALL(cuEventDestroy, each);
    CALL(cuStreamDestroy, stream);
    CALL(cuModuleUnload, module);
    CALL(cuDevicePrimaryCtxRelease, device);
}
