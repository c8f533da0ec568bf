// tests/record/driver.cpp - launches by each function of the driver API, of kernels in PTX text.
//
// Arguments: the PTX file, and "graph" for a launch in a captured stream.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace {

void check(CUresult code, int line) {
    if (code == CUDA_SUCCESS) return;
    std::fprintf(stderr, "line %d: error %d\n", line, code);
    std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

constexpr int count = 64;

CUdeviceptr array(float first) {
    std::vector<float> host(count);
    for (int i = 0; i < count; ++i) host[i] = first + i;
    CUdeviceptr made = 0;
    CHECK(cuMemAlloc(&made, count * sizeof(float)));
    CHECK(cuMemcpyHtoD(made, host.data(), count * sizeof(float)));
    return made;
}

}  // namespace

int main(int arguments, char** argument) {
    std::ifstream file(argument[1], std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    CHECK(cuInit(0));
    CUdevice device = 0;
    CUcontext context = nullptr;
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CUmodule module = nullptr;
    CUfunction scale = nullptr;
    CHECK(cuModuleLoadDataEx(&module, text.c_str(), 0, nullptr, nullptr));
    CHECK(cuModuleGetFunction(&scale, module, "scale"));
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction of_kernel = nullptr;
    CHECK(cuLibraryLoadFromFile(&library, argument[1], nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "scale"));
    CHECK(cuKernelGetFunction(&of_kernel, kernel));
    text.assign(text.size(), '?');  // an image may be freed after it was loaded

    CUdeviceptr data = array(1);
    float factor = 2;
    unsigned n = count;
    void* parameters[] = {&data, &factor, &n};
    CHECK(cuLaunchKernel(scale, 2, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
    struct {
        CUdeviceptr data;
        float factor;
        unsigned n;
    } buffer{data, 3, count};
    std::size_t size = sizeof buffer;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CHECK(cuLaunchKernel(scale, 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
    CHECK(cuLaunchCooperativeKernel(of_kernel, 2, 1, 1, 32, 1, 1, 0, nullptr, parameters));
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim = {2, 1, 1};
    CUlaunchConfig config{};
    config.gridDimX = 2;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 32;
    config.sharedMemBytes = 16;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel), parameters, nullptr));

    using Launch = decltype(&cuLaunchKernel);
    Launch own = nullptr;
    CUdriverProcAddressQueryResult found;
    CHECK(cuGetProcAddress("cuLaunchKernel", reinterpret_cast<void**>(&own), 12000,
                           CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &found));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            CHECK(cuCtxSetCurrent(context));
            CUdeviceptr mine = array(static_cast<float>(100 * i));
            void* given[] = {&mine, &factor, &n};
            CHECK(own(scale, 2, 1, 1, 32, 1, 1, 0, nullptr, given, nullptr));
        });
    for (std::thread& thread : threads) thread.join();

    if (arguments > 2) {
        CUstream stream = nullptr;
        CUgraph graph = nullptr;
        CUgraphExec ready = nullptr;
        CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        CHECK(cuLaunchKernel(scale, 2, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
        CHECK(cuStreamEndCapture(stream, &graph));
        CHECK(cuGraphInstantiateWithFlags(&ready, graph, 0));
        CHECK(cuGraphLaunch(ready, stream));
        CHECK(cuGraphLaunch(ready, stream));
        CHECK(cuStreamSynchronize(stream));
    }
    float result = 0;
    CHECK(cuMemcpyDtoH(&result, data, sizeof result));
    std::printf("%g\n", result);
    return 0;
}
