// csrc/runtime/profile/range.hpp - NVTX ranges, which NVIDIA's profilers show.
#pragma once

namespace cupola {

// Throws where this library was built without the header that it takes.
void require_ranges();
void begin_range(const char* name) noexcept;
void end_range() noexcept;

}  // namespace cupola
