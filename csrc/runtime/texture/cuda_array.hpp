// csrc/runtime/texture/cuda_array.hpp - CUDA arrays: texels in a layout of the driver's choice.
#pragma once

#include "cupola/texture.h"
#include "runtime/context/stream.hpp"
#include "runtime/lifetime/retained_object.hpp"

namespace cupola {

class CudaArray : public RetainedObject {
  public:
    CudaArray(Context& context, const cupola_cuda_array_shape& shape);
    ~CudaArray() override;

    Context& context;
    const cupola_cuda_array_shape shape;
    CUarray handle = nullptr;
};

// The bytes of one channel; throws for an unknown format.
unsigned channel_bytes(int format);
// Throws unless the channels are 1, 2 or 4.
void check_channels(unsigned channels);
// Waits for the context's work, so that a handle which it may use can be destroyed. False where
// the driver refuses to wait, as in a capture of another library: the handle leaks then.
bool wait_before_destroying(const Context& context) noexcept;

// Queues a copy between arrays and memory.
void copy_box(const cupola_box& to, const cupola_box& from, std::size_t width, std::size_t rows,
              std::size_t depth, Stream& stream);

inline CudaArray* unwrap(cupola_cuda_array* array) { return reinterpret_cast<CudaArray*>(array); }
inline const CudaArray* unwrap(const cupola_cuda_array* array) {
    return reinterpret_cast<const CudaArray*>(array);
}
inline cupola_cuda_array* wrap(CudaArray* array) {
    return reinterpret_cast<cupola_cuda_array*>(array);
}

}  // namespace cupola
