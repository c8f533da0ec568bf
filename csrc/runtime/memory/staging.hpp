// csrc/runtime/memory/staging.hpp - copies pageable host memory through page-locked chunks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/context/stream.hpp"

namespace cupola {

// The number of threads for one copy, the caller included: CUPOLA_STAGING_THREADS, or the pool's
// default. `directions` is 2 where memory is copied continuously in both directions.
std::size_t staging_threads(const Driver& driver, std::size_t directions = 1);

// Copy through page-locked chunks where that is faster than the driver's copy: for large pageable
// memory. Else return false and queue nothing. When the copy to the device returns, the source was
// read; when the copy to the host returns, the destination was written.
bool stage_to_device(std::uint64_t to, const void* from, std::size_t bytes, Stream& stream);
bool stage_to_host(void* to, std::uint64_t from, std::size_t bytes, Stream& stream);

}  // namespace cupola
