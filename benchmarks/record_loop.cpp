// benchmarks/record_loop.cpp - a launch-bound program for bench_record.py.
//
// Arguments: a PTX file with the kernel `scale`, the number of launches, and rounds. Prints the
// nanoseconds of a launch in the fastest round. Under callgrind, counts the launches of one round.
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else  // the times are measured without it
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name)
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

namespace {

void* driver = nullptr;

template <class F>
F* function(const char* name) {
    return reinterpret_cast<F*>(dlsym(driver, name));
}

void check(CUresult code) {
    if (code != CUDA_SUCCESS) std::exit(code);
}

// Of this thread, in nanoseconds.
double processor_time() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int, char** argument) {
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return 1;
    std::ifstream file(argument[1], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const int launches = std::atoi(argument[2]), rounds = std::atoi(argument[3]);
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction scale = nullptr;
    CUdeviceptr data = 0;
    check(function<CUresult(unsigned)>("cuInit")(0));
    check(function<CUresult(CUcontext*, int)>("cuDevicePrimaryCtxRetain")(&context, 0));
    check(function<CUresult(CUcontext)>("cuCtxSetCurrent")(context));
    check(function<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module, text.c_str()));
    check(function<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(
        &scale, module, "scale"));
    // A kernel that is recorded where a recording asks for it, and that is not launched.
    std::string renamed = text;
    for (std::size_t at = 0; (at = renamed.find("scale", at)) != std::string::npos; at += 5)
        renamed.replace(at, 5, "other");
    CUfunction other = nullptr;
    check(function<CUresult(CUmodule*, const void*)>("cuModuleLoadData")(&module, renamed.c_str()));
    check(function<CUresult(CUfunction*, CUmodule, const char*)>("cuModuleGetFunction")(
        &other, module, "other"));
    check(function<CUresult(CUdeviceptr*, size_t)>("cuMemAlloc_v2")(&data, 128));
    const auto launch = function<decltype(cuLaunchKernel)>("cuLaunchKernel");
    const auto synchronize = function<CUresult()>("cuCtxSynchronize");
    float factor = 1;
    unsigned n = 32;
    void* parameters[] = {&data, &factor, &n};
    const auto round = [&](int count) {
        for (int i = 0; i < count; ++i)
            check(launch(scale, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr));
    };
    double best = 1e300;
    for (int i = 0; i < rounds; ++i) {
        const double begin = processor_time();
        round(launches);
        best = std::min(best, (processor_time() - begin) / launches);
        check(synchronize());
    }
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    round(launches);
    CALLGRIND_DUMP_STATS_AT("launches");
    CALLGRIND_STOP_INSTRUMENTATION;
    check(synchronize());
    std::printf("%f\n", best);
    return 0;
}
