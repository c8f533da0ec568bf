// csrc/runtime/memory/staging.hpp - pageable host memory goes through page-locked chunks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupola/memory.h"
#include "runtime/context/stream.hpp"

namespace cupola {

cupola_address_info describe_address(std::uint64_t address);

// The number of threads for one copy, the caller included: CUPOLA_STAGING_THREADS, or what the pool
// gives by default. `directions` is 2 where memory is copied both ways all the time.
std::size_t staging_threads(std::size_t directions = 1);

// Copies by way of page-locked chunks where that is faster than the driver's own way: for much
// pageable memory. False, and nothing was queued, where it is not. The source has been read, the
// destination been written when these return.
bool stage_to_device(std::uint64_t to, const void* from, std::size_t bytes, Stream& stream);
bool stage_to_host(void* to, std::uint64_t from, std::size_t bytes, Stream& stream);

}  // namespace cupola
