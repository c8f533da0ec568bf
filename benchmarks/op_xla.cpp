// benchmarks/op_xla.cpp - saxpy of a CUfunction as a handler of XLA's typed FFI.
#include "op_saxpy.hpp"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error run(void* stream, ffi::Buffer<ffi::F32>& x, ffi::Buffer<ffi::F32>& y,
                      ffi::Result<ffi::Buffer<ffi::F32>>& out, double a) {
    if (x.element_count() != y.element_count() || x.element_count() != out->element_count())
        return ffi::Error::InvalidArgument("vectors of one length");
    const int status =
        saxpy_launch(stream, static_cast<float>(a), x.untyped_data(), y.untyped_data(),
                     out->untyped_data(), static_cast<unsigned long>(x.element_count()));
    return status ? ffi::Error::Internal("launch failed") : ffi::Error::Success();
}

static ffi::Error on_host(ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::F32> y,
                          ffi::Result<ffi::Buffer<ffi::F32>> out, double a) {
    return run(nullptr, x, y, out, a);
}
static ffi::Error on_gpu(void* stream, ffi::Buffer<ffi::F32> x, ffi::Buffer<ffi::F32> y,
                         ffi::Result<ffi::Buffer<ffi::F32>> out, double a) {
    return run(stream, x, y, out, a);
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(saxpy_host, on_host,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Attr<double>("a"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(saxpy_gpu, on_gpu,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void*>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Attr<double>("a"));
