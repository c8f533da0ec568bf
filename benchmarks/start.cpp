// benchmarks/start.cpp - a process whose whole work is a first result, in C++ on the driver: what
// bench_start.py holds cupola's start against. Arguments: the driver's library, an image with the
// shipped saxpy, and what is printed when the result is right.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

void* driver;

// The driver's function of that name, called; a failure ends the process.
template <class... Args>
void call(const char* name, Args... args) {
    auto function = reinterpret_cast<int (*)(Args...)>(dlsym(driver, name));
    const int status = function ? function(args...) : -1;
    if (status == 0) return;
    std::fprintf(stderr, "%s: %d\n", name, status);
    std::exit(1);
}

}  // namespace

int main(int, char** arguments) {
    driver = dlopen(arguments[1], RTLD_NOW);
    if (!driver) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    std::ifstream file(arguments[2], std::ios::binary);
    const std::string image{std::istreambuf_iterator<char>(file), {}};

    int device = 0;
    void *context = nullptr, *module = nullptr, *kernel = nullptr;
    call("cuInit", 0u);
    call("cuDeviceGet", &device, 0);
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxSetCurrent", context);
    call("cuModuleLoadData", &module, static_cast<const void*>(image.data()));
    call("cuModuleGetFunction", &kernel, module, "saxpy");

    std::size_t n = 1000;
    float a = 2;
    std::vector<float> x(n, 1), y(n, 3), out(n);
    const std::size_t bytes = n * sizeof(float);
    std::uint64_t device_x = 0, device_y = 0, device_out = 0;
    for (auto* address : {&device_x, &device_y, &device_out}) call("cuMemAlloc_v2", address, bytes);
    call("cuMemcpyHtoD_v2", device_x, static_cast<const void*>(x.data()), bytes);
    call("cuMemcpyHtoD_v2", device_y, static_cast<const void*>(y.data()), bytes);
    void* parameters[] = {&a, &device_x, &device_y, &device_out, &n};
    void *stream = nullptr, **extra = nullptr;
    call("cuLaunchKernel", kernel, 1u, 1u, 1u, 256u, 1u, 1u, 0u, stream,
         static_cast<void**>(parameters), extra);
    call("cuMemcpyDtoH_v2", static_cast<void*>(out.data()), device_out, bytes);
    if (out.front() != 5 || out.back() != 5) return 1;
    std::puts(arguments[3]);
    std::fflush(stdout);
    return 0;
}
