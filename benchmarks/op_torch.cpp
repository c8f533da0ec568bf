// benchmarks/op_torch.cpp - saxpy of a CUfunction as an operator of PyTorch, with TORCH_LIBRARY.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "op_saxpy.hpp"

#ifdef WITH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace {

at::Tensor saxpy(const at::Tensor& x, const at::Tensor& y, double a) {
    TORCH_CHECK(x.scalar_type() == at::kFloat && y.scalar_type() == at::kFloat, "float32");
    TORCH_CHECK(x.dim() == 1 && y.sizes() == x.sizes(), "two vectors of one length");
    TORCH_CHECK(x.is_contiguous() && y.is_contiguous() && x.device() == y.device(), "contiguous");
#ifdef WITH_CUDA
    const c10::cuda::CUDAGuard guard(x.device());
    void* const stream = c10::cuda::getCurrentCUDAStream(x.device().index()).stream();
#else
    void* const stream = nullptr;
#endif
    at::Tensor out = at::empty_like(x);
    const int status = saxpy_launch(stream, static_cast<float>(a), x.data_ptr(), y.data_ptr(),
                                    out.data_ptr(), static_cast<unsigned long>(x.numel()));
    TORCH_CHECK(status == 0, "launch failed: ", status);
    return out;
}

}  // namespace

TORCH_LIBRARY(cupola_bench, m) { m.def("saxpy(Tensor x, Tensor y, float a) -> Tensor"); }
TORCH_LIBRARY_IMPL(cupola_bench, CPU, m) { m.impl("saxpy", saxpy); }
TORCH_LIBRARY_IMPL(cupola_bench, CUDA, m) { m.impl("saxpy", saxpy); }
