// benchmarks/authoring/by_hf_kernels/torch_binding.h - the functions of ray.cu.
#pragma once

#include <torch/torch.h>

torch::Tensor ray_distance(const torch::Tensor& points);
torch::Tensor ray_distance_backward(const torch::Tensor& grad_out, const torch::Tensor& points,
                                    const torch::Tensor& out);
