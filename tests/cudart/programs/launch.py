"""Launches and what is wrong with them."""

from ctypes import byref, c_int, c_uint64, c_void_p

from cudart.runtime import Dim3


def a_kernel_runs(runtime):
    numbers = runtime.upload([1, 2, 3, 4])
    runtime.launch(runtime.kernel("add1"), (1, 1, 1), (4, 1, 1), [c_uint64(numbers)])
    runtime.note("numbers", runtime.ints(numbers, 4))
    runtime.cudaDeviceSynchronize()


def a_wrong_configuration(runtime):
    kernel = runtime.kernel("store")
    numbers = runtime.upload([0])
    arguments = [c_uint64(numbers), c_int(5)]
    for grid, block, shared in [
        ((0, 1, 1), (1, 1, 1), 0),
        ((1, 0, 1), (1, 1, 1), 0),
        ((1, 1, 1), (0, 1, 1), 0),
        ((1, 1, 1), (1025, 1, 1), 0),
        ((1, 1, 1), (1, 1, 65), 0),
        ((1, 70000, 1), (1, 1, 1), 0),
        ((1, 1, 1), (32, 1, 1), 1 << 20),
    ]:
        runtime.note("grid, block, shared", [grid, block, shared])
        runtime.launch(kernel, grid, block, arguments, shared)
        runtime.cudaPeekAtLastError()
        runtime.cudaGetLastError()
        runtime.cudaGetLastError()


def no_such_function(runtime):
    here = c_int()
    runtime.cudaLaunchKernel(byref(here), Dim3(1, 1, 1), Dim3(1, 1, 1), None, 0, 0)
    runtime.cudaLaunchKernel(None, Dim3(1, 1, 1), Dim3(1, 1, 1), None, 0, 0)
    runtime.cudaGetLastError()


def configurations_are_a_stack(runtime):
    grid, block, shared, stream = Dim3(), Dim3(), c_uint64(), c_void_p()
    getattr(runtime, "__cudaPushCallConfiguration")(Dim3(1, 2, 3), Dim3(4, 5, 6), 7, 8)
    getattr(runtime, "__cudaPushCallConfiguration")(Dim3(9, 9, 9), Dim3(9, 9, 9), 9, 9)
    for _ in range(3):
        getattr(runtime, "__cudaPopCallConfiguration")(
            byref(grid), byref(block), byref(shared), byref(stream)
        )
        numbers = [grid.x, grid.y, grid.z, block.x, block.y, block.z, shared.value, stream.value]
        runtime.note("configuration", numbers)
