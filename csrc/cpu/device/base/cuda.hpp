// csrc/cpu/device/base/cuda.hpp - includes NVIDIA's cuda.h, and declares how entry points are
// exported.
//
// cuda.h renames old spellings to the newest one by macros (cuMemAlloc -> cuMemAlloc_v2). Entry
// points here are written with the suffix that they are exported under. Older spellings of the same
// function are aliases. So the header of any toolkit from 12.8 works.
#pragma once

// This library also defines the deprecated functions.
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

// Exports a function of this file under a second name. This uses the assembler because the name is
// a macro in cuda.h, and because the two names are declared with different types.
#define CUPOLA_ALIAS(alias, function) \
    __asm__(".globl " #alias "\n\t.type " #alias ", %function\n\t.set " #alias ", " #function "\n")
