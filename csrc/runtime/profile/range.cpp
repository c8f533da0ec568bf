// csrc/runtime/profile/range.cpp - NVTX ranges with the toolkit's header.
//
// The header loads a profiler's library where one is injected, and does nothing otherwise.
#include "runtime/profile/range.hpp"

#include "runtime/base/error.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define CUPOLA_HAS_NVTX 1
#else
#define CUPOLA_HAS_NVTX 0
#endif

namespace cupola {

void require_ranges() {
    if (!CUPOLA_HAS_NVTX)
        fail(CUPOLA_ERROR_VALUE,
             "NVTX ranges are not in this build of cupola: it was built without "
             "nvtx3/nvToolsExt.h, a header of the CUDA toolkit; build cupola with the toolkit, "
             "or profile without ranges");
}

void begin_range([[maybe_unused]] const char* name) noexcept {
#if CUPOLA_HAS_NVTX
    nvtxRangePushA(name);
#endif
}

void end_range() noexcept {
#if CUPOLA_HAS_NVTX
    nvtxRangePop();
#endif
}

}  // namespace cupola
