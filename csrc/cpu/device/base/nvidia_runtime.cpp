// csrc/cpu/device/base/nvidia_runtime.cpp - the notice to programs that use NVIDIA's CUDA runtime.
#include "cpu/device/base/nvidia_runtime.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>

namespace cupola::cpu {
namespace {

// The table that no other library asks for.
constexpr unsigned char runtime_table[16] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                             0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

}  // namespace

void tell_nvidia_runtime(const CUuuid& table, const void* caller) {
    static std::atomic<bool> told{false};
    if (std::memcmp(table.bytes, runtime_table, sizeof runtime_table) != 0 || told.exchange(true))
        return;
    Dl_info library{};
    const char* path = dladdr(caller, &library) && library.dli_fname ? library.dli_fname : "";
    if (std::strstr(path, "libcudart.so"))
        std::fprintf(stderr,
                     "cupola: this program loads NVIDIA's CUDA runtime (%s), which needs NVIDIA's "
                     "driver: all its calls fail on the CPU device. Start the program with `python "
                     "-m cupola run PROGRAM`, which puts cupola's libcudart first, or run it where "
                     "there is a GPU.\n",
                     path);
    else
        std::fprintf(stderr,
                     "cupola: NVIDIA's CUDA runtime is linked into %s and needs NVIDIA's driver: "
                     "all its calls fail on the CPU device. Build it again with `nvcc -cudart "
                     "shared`, or with any build command under `python -m cupola run -- COMMAND`; "
                     "then start it with `python -m cupola run PROGRAM`.\n",
                     *path ? path : "this program");
}

}  // namespace cupola::cpu
