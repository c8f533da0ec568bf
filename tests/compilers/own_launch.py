"""Run in a build of examples/rows: its kernels, and the same ones launched by Triton itself."""

import torch
from rows import kernels, triton_kernels

x, y = torch.randn(2, 5000, device="cuda")
ours, theirs = torch.zeros(2, 5000, device="cuda")
torch.cuda.synchronize()
kernels.axpy[5](2.5, x, y, ours, 5000)
triton_kernels.axpy[(5,)](2.5, x, y, theirs, 5000, BLOCK=1024)
torch.cuda.synchronize()
assert torch.equal(ours, theirs)

x = torch.randn(33, 700, device="cuda")
ours, theirs = torch.zeros(2, 33, 700, device="cuda")
torch.cuda.synchronize()
kernels.softmax_1024[33](ours, x, 700, 700)
triton_kernels.softmax[(33,)](theirs, x, 700, 700, BLOCK=1024, num_warps=8)
torch.cuda.synchronize()
assert torch.equal(ours, theirs)
print("equal")
