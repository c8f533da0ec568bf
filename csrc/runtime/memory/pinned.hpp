// csrc/runtime/memory/pinned.hpp - page-locked host memory.
#pragma once

#include "runtime/memory/memory.hpp"

namespace cupola {

// `flags` are CUPOLA_PINNED_*.
Ref<Memory> allocate_pinned(Context& context, std::size_t size, unsigned flags);
// Page-locks the caller's memory; `flags` are CUPOLA_REGISTER_*.
Ref<Memory> register_host(Context& context, void* host, std::size_t size, unsigned flags);

}  // namespace cupola
