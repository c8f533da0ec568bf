// csrc/runtime/profile/range.hpp - NVTX ranges, which NVIDIA's profilers show.
#pragma once

namespace cupola {

// Throws where this library was built without the NVTX header.
void require_ranges();
void begin_range(const char* name) noexcept;
void end_range() noexcept;

}  // namespace cupola
