// benchmarks/authoring/by_hf_kernels/torch_binding.cpp - registers the operators.
#include "torch_binding.h"

#include <torch/library.h>

#include "registration.h"

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
    ops.def("distance(Tensor points) -> Tensor");
    ops.def("distance_backward(Tensor grad_out, Tensor points, Tensor out) -> Tensor");
    ops.impl("distance", torch::kCUDA, &ray_distance);
    ops.impl("distance_backward", torch::kCUDA, &ray_distance_backward);
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
