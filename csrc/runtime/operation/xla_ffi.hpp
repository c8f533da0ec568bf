// csrc/runtime/operation/xla_ffi.hpp - calls of operations by XLA's typed foreign functions.
#pragma once

namespace cupola {

enum class XlaMemory { host, cuda };

// Reads an XLA_FFI_CallFrame and calls its operation. Returns an XLA_FFI_Error*, or null.
void* call_by_xla(void* call_frame, XlaMemory memory) noexcept;

}  // namespace cupola
