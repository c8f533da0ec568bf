// csrc/runtime/profile/range.cpp - NVTX ranges by the toolkit's header, which loads what a profiler
// injects and does nothing where there is none.
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
             "NVTX ranges are not in this build of cupola: when it was built there was no "
             "nvtx3/nvToolsExt.h, which comes with the CUDA toolkit; build cupola where that is, "
             "or profile without them");
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
