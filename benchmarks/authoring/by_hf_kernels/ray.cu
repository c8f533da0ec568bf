// benchmarks/authoring/by_hf_kernels/ray.cu - checks tensors, allocates results, launches.
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "distance.cuh"
#include "torch_binding.h"

static void check(const torch::Tensor& tensor, const torch::Tensor& like) {
    TORCH_CHECK(tensor.scalar_type() == torch::kFloat32, "expected float32");
    TORCH_CHECK(tensor.is_cuda() && tensor.device() == like.device(), "expected one CUDA device");
}

torch::Tensor ray_distance(const torch::Tensor& given) {
    check(given, given);
    TORCH_CHECK(given.dim() >= 1, "expected one axis or more");
    const c10::cuda::CUDAGuard guard(given.device());
    const torch::Tensor points = given.contiguous();
    torch::Tensor out = torch::empty(points.sizes().slice(0, points.dim() - 1), points.options());
    const int rows = static_cast<int>(out.numel()), n = static_cast<int>(points.size(-1));
    if (rows == 0) return out;
    distance<<<(rows + 127) / 128, 128, 0, c10::cuda::getCurrentCUDAStream()>>>(
        points.const_data_ptr<float>(), out.mutable_data_ptr<float>(), rows, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}

torch::Tensor ray_distance_backward(const torch::Tensor& grad_out, const torch::Tensor& given,
                                    const torch::Tensor& out) {
    for (const torch::Tensor& tensor : {grad_out, given, out}) check(tensor, given);
    TORCH_CHECK(given.dim() >= 1 && grad_out.sizes() == out.sizes() &&
                    out.sizes() == given.sizes().slice(0, given.dim() - 1),
                "rows differ");
    const c10::cuda::CUDAGuard guard(given.device());
    const torch::Tensor grad = grad_out.contiguous(), points = given.contiguous();
    torch::Tensor grad_points = torch::empty_like(points);
    const int rows = static_cast<int>(out.numel()), n = static_cast<int>(points.size(-1));
    if (rows == 0) return grad_points;
    distance_backward<<<(rows + 127) / 128, 128, 0, c10::cuda::getCurrentCUDAStream()>>>(
        grad.const_data_ptr<float>(), points.const_data_ptr<float>(), out.const_data_ptr<float>(),
        grad_points.mutable_data_ptr<float>(), rows, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return grad_points;
}
