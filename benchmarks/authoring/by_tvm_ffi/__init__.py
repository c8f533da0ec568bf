# benchmarks/authoring/by_tvm_ffi/__init__.py - the functions as operators of PyTorch.
from pathlib import Path

import torch
import tvm_ffi

_functions = tvm_ffi.load_module(str(Path(__file__).parent / "ray.so"))


@torch.library.custom_op("ray_tvm::distance", mutates_args=())
def distance(points: torch.Tensor) -> torch.Tensor:
    points = points.contiguous()
    out = points.new_empty(points.shape[:-1])
    _functions.distance(points, out)
    return out


@torch.library.custom_op("ray_tvm::distance_backward", mutates_args=())
def distance_backward(
    grad_out: torch.Tensor, points: torch.Tensor, out: torch.Tensor
) -> torch.Tensor:
    points = points.contiguous()
    grad_points = torch.empty_like(points)
    _functions.distance_backward(grad_out.contiguous(), points, out, grad_points)
    return grad_points


@distance.register_fake
def _(points):
    return points.new_empty(points.shape[:-1])


@distance_backward.register_fake
def _(grad_out, points, out):
    return torch.empty_like(points, memory_format=torch.contiguous_format)


def _save(ctx, inputs, output):
    ctx.save_for_backward(*inputs, output)


def _gradient(ctx, grad_out):
    return distance_backward(grad_out, *ctx.saved_tensors)


distance.register_autograd(_gradient, setup_context=_save)
