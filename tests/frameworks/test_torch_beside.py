"""PyTorch's CPU tensors beside a GPU: `op(x.cpu())` is what `op(x.cuda())` is."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from beside import good, gpu_driver, with_operations

BEGIN = """
import os, sys, torch
def gpu_libraries():
    maps = open("/proc/self/maps").read().split()
    return {one for one in maps if "/" in one and ("libcuda.so" in one or "libnvidia" in one)}
before = gpu_libraries()  # libraries that PyTorch itself has loaded
import numpy as np, cupola
u = torch.arange(35, dtype=torch.float32).reshape(5, 7)
"""
CHOSEN = {"CUPOLA_CPU_TENSORS": "1"}


@pytest.fixture(scope="module")
def gpu(driver, tmp_path_factory):
    return gpu_driver(driver, tmp_path_factory.mktemp("driver"))


def program(code, gpu, **variables):
    return good(with_operations(code, BEGIN), gpu, **variables)


def test_cpu_tensors_alone_load_no_gpu_library(gpu):
    program(
        """
        step, accumulate = made(operations.PLANE, "cpu"), made(operations.ACCUMULATE, "cpu")
        out, cache, x = torch.zeros_like(u), torch.zeros(100), torch.arange(100.0)
        with cupola.profile() as profile:
            v = step(u, 3)
            assert type(v) is torch.Tensor and v.device == u.device and torch.equal(v, 3 * u)
            assert step(u, 4, out=out) is out and torch.equal(out, 4 * u)
            total = accumulate(cache, x)
        assert total.item() == 4950 and torch.equal(cache, x)
        # In place: nothing was copied.
        assert {one.kind for one in profile.operations} <= {"launch", "wait"}
        assert gpu_libraries() <= before and not cupola.driver.loaded()
        assert "libcupola_cpu.so.1" in open("/proc/self/maps").read()
        """,
        gpu,
        **CHOSEN,
    )


def test_they_are_an_error_without_a_choice(gpu):
    program(
        """
        step = made(operations.PLANE)
        try:
            step(u)
        except cupola.ArgumentValueError as error:
            assert "CUPOLA_CPU_TENSORS=1" in str(error)
        else:
            raise AssertionError
        with cupola.Device("cpu"):
            for factor in (2, 3):  # the second call goes past Python
                assert torch.equal(step(u, factor), factor * u)
        try:
            step(u, 3)
        except cupola.ArgumentValueError as error:
            assert "CUPOLA_CPU_TENSORS=1" in str(error)
        else:
            raise AssertionError
        """,
        gpu,
        CUPOLA_CPU_TENSORS="",
    )


def test_transformations(gpu):
    program(
        """
        step = made(operations.PLANE)
        number = made(operations.NUMBER)
        if hasattr(torch.library, "register_vmap"):  # else PyTorch warns of its own loop
            whole = (2 * u).expand(3, 5, 7)
            assert torch.equal(torch.vmap(step)(u[None].expand(3, 5, 7)), whole)
            expected = torch.arange(4.0)[:, None].expand(4, 5)
            assert torch.equal(torch.vmap(number)(torch.zeros(4, 5)), expected)
        torch.library.opcheck(step._overload, (u, 2.0))
        try:
            step(u.clone().requires_grad_())
        except cupola.ArgumentValueError as error:
            assert "no backward" in str(error)
        else:
            raise AssertionError
        """,
        gpu,
        **CHOSEN,
    )


@pytest.mark.cuda_only("PyTorch's GPU tensors need a GPU")
def test_the_same_as_on_the_gpu(gpu):
    import torch

    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    program(
        """
        for table, shapes in (
            (operations.PLANE, [(5, 7)]), (operations.BOTH, [(9,), (9,)]),
            (operations.WEIGH, [(2, 4, 6), (6,), (6,)]),
        ):
            op = made(table)
            tensors = [torch.randint(-8, 8, shape).float() for shape in shapes]
            here, there = op(*tensors), op(*(one.cuda() for one in tensors))
            for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (here, there))):
                assert one.device.type == "cpu" and other.device.type == "cuda"
                torch.testing.assert_close(one, other.cpu(), rtol=0, atol=0)
        """,
        gpu,
        **CHOSEN,
    )


@pytest.mark.several_devices
@pytest.mark.cuda_only("PyTorch's GPU tensors need GPUs")
def test_cpu_tensors_and_two_gpus_in_one_process(gpu):
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip("this PyTorch has no two GPUs")
    program(
        """
        step = made(operations.PLANE)
        for factor in range(2, 6):
            for device in ("cpu", "cuda:0", "cuda:1"):
                x = u.to(device)
                v = step(x, factor)
                assert v.device == x.device and torch.equal(v.cpu(), factor * u)
        """,
        gpu,
        **CHOSEN,
    )
