// benchmarks/op_tvm.cpp - saxpy of a CUfunction as a function of tvm-ffi.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include "op_saxpy.hpp"

static void saxpy(tvm::ffi::TensorView x, tvm::ffi::TensorView y, tvm::ffi::TensorView out,
                  double a) {
    TVM_FFI_ICHECK(x.ndim() == 1 && x.size(0) == y.size(0) && x.size(0) == out.size(0));
    const DLDataType f32{kDLFloat, 32, 1};
    TVM_FFI_ICHECK(x.dtype() == f32 && y.dtype() == f32 && out.dtype() == f32);
    TVM_FFI_ICHECK(x.IsContiguous() && y.IsContiguous() && out.IsContiguous());
    const DLDevice device = x.device();
    void* const stream =
        device.device_type == kDLCUDA
            ? static_cast<void*>(TVMFFIEnvGetStream(device.device_type, device.device_id))
            : nullptr;
    const int status = saxpy_launch(stream, static_cast<float>(a), x.data_ptr(), y.data_ptr(),
                                    out.data_ptr(), static_cast<unsigned long>(x.size(0)));
    TVM_FFI_ICHECK_EQ(status, 0);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(saxpy, saxpy);
