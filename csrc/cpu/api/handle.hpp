// csrc/cpu/api/handle.hpp - finds the objects of the handles that a program passes.
#pragma once

#include <memory>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/context/context.hpp"

namespace cupola::cpu {

class Array;
class Event;
class Function;
class MipmappedArray;
class Stream;

// A handle of a context or a view. Throws INVALID_CONTEXT for any other handle.
CurrentContext named_context(CUcontext handle);
std::shared_ptr<Context> context_of(CUcontext handle);
// The handle's context, or the current context for null.
std::shared_ptr<Context> context_or_current(CUcontext handle);

// The stream of a handle in the current context: the legacy stream, the per-thread stream, or a
// created one. Checks the stream's context.
std::shared_ptr<Stream> stream_of(CUstream handle);

// Throws INVALID_HANDLE for null. As in NVIDIA's driver, another invalid handle counts as an event
// of a destroyed context.
std::shared_ptr<Event> event_of(CUevent handle);

// From a CUfunction, or from a CUkernel, which means its function in the current context.
std::shared_ptr<Function> function_of(CUfunction handle);

// Both throw INVALID_VALUE for null.
std::shared_ptr<Array> array_of(CUarray handle);
std::shared_ptr<MipmappedArray> mipmapped_array_of(CUmipmappedArray handle);

}  // namespace cupola::cpu
