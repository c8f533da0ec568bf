// csrc/cpu/api/copy.hpp - the calls of copies: captured, submitted to a stream or performed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/device/stream/copy.hpp"

namespace cupola::cpu {

// `wait`: a synchronous call, which returns after host memory was read or written.
CUresult copy(const Copy& what, Stream& stream, bool wait);
CUresult copy(Side::Space to, std::uintptr_t destination, Side::Space from, std::uintptr_t source,
              std::size_t bytes, Stream& stream, bool wait);

}  // namespace cupola::cpu
