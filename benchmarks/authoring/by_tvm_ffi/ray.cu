// benchmarks/authoring/by_tvm_ffi/ray.cu - the kernels as functions of tvm-ffi.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include "distance.cuh"

using tvm::ffi::TensorView;

static void check(TensorView tensor, TensorView like) {
    const DLDataType float32{kDLFloat, 32, 1};
    TVM_FFI_ICHECK(tensor.dtype() == float32) << "expected float32";
    TVM_FFI_ICHECK(tensor.IsContiguous()) << "expected a contiguous tensor";
    TVM_FFI_ICHECK(tensor.device().device_type == kDLCUDA) << "expected a CUDA tensor";
    TVM_FFI_ICHECK(tensor.device().device_id == like.device().device_id) << "two devices";
}

static cudaStream_t stream_of(TensorView tensor) {
    const DLDevice device = tensor.device();
    return static_cast<cudaStream_t>(TVMFFIEnvGetStream(device.device_type, device.device_id));
}

static void ray_distance(TensorView points, TensorView out) {
    check(points, points);
    check(out, points);
    TVM_FFI_ICHECK(points.ndim() >= 1 && out.ndim() == points.ndim() - 1);
    int rows = 1;
    for (int i = 0; i < out.ndim(); ++i) {
        TVM_FFI_ICHECK(out.size(i) == points.size(i)) << "rows differ";
        rows *= static_cast<int>(out.size(i));
    }
    if (rows == 0) return;
    const int n = static_cast<int>(points.size(points.ndim() - 1));
    distance<<<(rows + 127) / 128, 128, 0, stream_of(points)>>>(
        static_cast<const float*>(points.data_ptr()), static_cast<float*>(out.data_ptr()), rows, n);
    TVM_FFI_ICHECK(cudaGetLastError() == cudaSuccess);
}

static void ray_distance_backward(TensorView grad, TensorView points, TensorView out,
                                  TensorView grad_points) {
    for (TensorView tensor : {grad, points, out, grad_points}) check(tensor, points);
    TVM_FFI_ICHECK(grad_points.ndim() == points.ndim() && out.ndim() == points.ndim() - 1);
    int rows = 1;
    for (int i = 0; i < out.ndim(); ++i) {
        TVM_FFI_ICHECK(out.size(i) == points.size(i) && grad.size(i) == points.size(i));
        rows *= static_cast<int>(out.size(i));
    }
    if (rows == 0) return;
    const int n = static_cast<int>(points.size(points.ndim() - 1));
    distance_backward<<<(rows + 127) / 128, 128, 0, stream_of(points)>>>(
        static_cast<const float*>(grad.data_ptr()), static_cast<const float*>(points.data_ptr()),
        static_cast<const float*>(out.data_ptr()), static_cast<float*>(grad_points.data_ptr()),
        rows, n);
    TVM_FFI_ICHECK(cudaGetLastError() == cudaSuccess);
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(distance, ray_distance);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(distance_backward, ray_distance_backward);
