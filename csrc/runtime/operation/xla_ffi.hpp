// csrc/runtime/operation/xla_ffi.hpp - calls of operations by XLA's typed foreign functions.
#pragma once

namespace cupola {

// The memory of a call's buffers. Calls with `cuda_operands` wait for scalars in device memory, so
// XLA must not capture them.
enum class XlaMemory { host, cuda, cuda_operands };

// Reads an XLA_FFI_CallFrame and calls its operation. Returns an XLA_FFI_Error*, or null.
void* call_by_xla(void* call_frame, XlaMemory memory) noexcept;

}  // namespace cupola
