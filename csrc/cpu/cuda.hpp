// csrc/cpu/cuda.hpp - NVIDIA's cuda.h as the CPU device uses it, and how an entry point is
// exported.
//
// cuda.h renames old spellings to the newest one by macros (cuMemAlloc -> cuMemAlloc_v2). Entry
// points here are always written with the suffix they are exported under, and older spellings of
// the same function are aliases of it, so that the header of any 12.8 or newer toolkit will do.
#pragma once

// This library defines the deprecated functions too.
#define CUDA_ENABLE_DEPRECATED
#include <cuda.h>

#undef cuGetProcAddress
#undef cuEventElapsedTime
#undef cuDeviceGetUuid
#undef cuCtxGetDevice
#undef cuCtxSynchronize
#undef cuMemPrefetchAsync
#undef cuMemAdvise

#define CUPOLA_API extern "C" __attribute__((visibility("default")))

// A second exported name of a function defined in the same file. Done in the assembler because the
// name is a macro of cuda.h, and because the two names are declared with different types.
#define CUPOLA_ALIAS(alias, function) \
    __asm__(".globl " #alias "\n\t.type " #alias ", %function\n\t.set " #alias ", " #function "\n")
