// csrc/runtime/memory/ipc.hpp - device memory that several processes map.
#pragma once

#include "runtime/memory/memory.hpp"

namespace cupola {

Ref<Memory> allocate_exportable(Context& context, std::size_t size);
// Throws where the memory is not exportable.
CUipcMemHandle export_memory(const Memory& memory);
Ref<Memory> import_memory(Context& context, const CUipcMemHandle& handle);

}  // namespace cupola
