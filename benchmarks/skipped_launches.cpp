// benchmarks/skipped_launches.cpp - a driver whose launches return at once, without a kernel.
// Linked to a real driver, which does all other calls. Compiled by bench_threads.py, which
// measures by it what a launch costs in front of the driver.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>

namespace {

int skip(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
         void**) {
    return 0;
}

template <class Lookup, class... Rest>
int look_up(const char* own_name, const char* name, void** address, Rest... rest) {
    const auto real = reinterpret_cast<Lookup>(dlsym(RTLD_NEXT, own_name));
    if (!real) return 500;  // CUDA_ERROR_NOT_FOUND
    const int code = real(name, address, rest...);
    if (code == 0 && std::strcmp(name, "cuLaunchKernel") == 0)
        *address = reinterpret_cast<void*>(skip);
    return code;
}

using LookupV1 = int (*)(const char*, void**, int, std::uint64_t);
using LookupV2 = int (*)(const char*, void**, int, std::uint64_t, int*);

}  // namespace

extern "C" int cuGetProcAddress(const char* name, void** address, int version,
                                std::uint64_t flags) {
    return look_up<LookupV1>("cuGetProcAddress", name, address, version, flags);
}

extern "C" int cuGetProcAddress_v2(const char* name, void** address, int version,
                                   std::uint64_t flags, int* found) {
    return look_up<LookupV2>("cuGetProcAddress_v2", name, address, version, flags, found);
}
