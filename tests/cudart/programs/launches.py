"""Cooperative launches, launches by a configuration, and those of a thread's own stream."""

from ctypes import addressof, byref, c_int, c_uint64, c_void_p

from cudart.device_structures import LaunchAttribute, LaunchConfig
from cudart.runtime import LEGACY, PER_THREAD, Dim3

COOPERATIVE, CLUSTER, PRIORITY = 2, 4, 8
ONE = Dim3(1, 1, 1)


def _arguments(*values):
    """The argument array of a launch; it holds the values."""
    made = (c_void_p * (len(values) + 1))(*[addressof(value) for value in values])
    made.values = values
    return made


def _config(grid, block, stream=0, attributes=()):
    array = (LaunchAttribute * (len(attributes) + 1))(*attributes)
    return LaunchConfig(grid, block, 0, stream, array, len(attributes))


def _number(attribute, value):
    made = LaunchAttribute(id=attribute)
    made.value.number = value
    return made


def cooperative_launches(runtime):
    numbers, kernel = runtime.upload([1, 2, 3]), runtime.kernel("add1")
    arguments = _arguments(c_uint64(numbers))
    for name in ("cudaLaunchCooperativeKernel", "cudaLaunchCooperativeKernel_ptsz"):
        launch = getattr(runtime, name)
        launch(kernel, ONE, Dim3(3, 1, 1), arguments, 0, 0)
        runtime.cudaDeviceSynchronize()
        runtime.note("numbers", runtime.ints(numbers, 3))
        launch(kernel, Dim3(1 << 20, 1, 1), Dim3(1024, 1, 1), arguments, 0, 0)
        launch(kernel, Dim3(0, 1, 1), ONE, arguments, 0, 0)
        launch(kernel, ONE, Dim3(1025, 1, 1), arguments, 0, 0)
        launch(None, ONE, ONE, arguments, 0, 0)
        launch(byref(c_int()), ONE, ONE, arguments, 0, 0)
        runtime.cudaGetLastError()


def launches_by_a_configuration(runtime):
    numbers, kernel = runtime.upload([1, 2, 3]), runtime.kernel("add1")
    arguments = _arguments(c_uint64(numbers))
    stream = runtime.handle("cudaStreamCreate")
    for name in ("cudaLaunchKernelExC", "cudaLaunchKernelExC_ptsz"):
        launch = getattr(runtime, name)
        launch(byref(_config((1, 1, 1), (3, 1, 1))), kernel, arguments)
        launch(byref(_config((1, 1, 1), (3, 1, 1), stream)), kernel, arguments)
        runtime.cudaDeviceSynchronize()
        runtime.note("numbers", runtime.ints(numbers, 3))
        for attribute in (_number(COOPERATIVE, 1), _number(PRIORITY, 0), _number(1000, 1)):
            runtime.note("attribute", attribute.id)
            launch(byref(_config((1, 1, 1), (3, 1, 1), 0, [attribute])), kernel, arguments)
        runtime.cudaDeviceSynchronize()
        runtime.note("numbers", runtime.ints(numbers, 3))
        launch(byref(_config((1, 1, 1), (3, 1, 1))), None, arguments)
        launch(byref(_config((1, 1, 1), (3, 1, 1))), byref(c_int()), arguments)
        launch(byref(_config((0, 1, 1), (3, 1, 1))), kernel, arguments)
        launch(byref(_config((1, 1, 1), (1025, 1, 1))), kernel, arguments)
        runtime.cudaGetLastError()


def a_launch_without_a_configuration(runtime):
    runtime.cudaLaunchKernelExC(None, runtime.kernel("empty"), _arguments())


def launches_of_clusters(runtime):
    if not runtime.integer("cudaDeviceGetAttribute", 120, 0):
        return
    numbers, kernel = runtime.upload([0] * 4), runtime.kernel("add1")
    arguments = _arguments(c_uint64(numbers))
    cluster = LaunchAttribute(id=CLUSTER)
    for grid, size in ((4, 2), (4, 4), (3, 2), (4, 0), (64, 64)):
        cluster.value.size[:] = size, 1, 1
        runtime.note("grid, cluster", [grid, size])
        config = _config((grid, 1, 1), (1, 1, 1), 0, [cluster])
        runtime.cudaLaunchKernelExC(byref(config), kernel, arguments)
    runtime.cudaDeviceSynchronize()
    runtime.note("numbers", runtime.ints(numbers, 4))
    runtime.cudaGetLastError()


def launches_of_default_streams(runtime):
    numbers, kernel = runtime.upload([0]), runtime.kernel("add1")
    arguments = _arguments(c_uint64(numbers))
    names = ("cudaLaunchKernel", "__cudaLaunchKernel")
    for name in [name + twin for name in names for twin in ("", "_ptsz")]:
        launch = getattr(runtime, name)
        for stream in (0, LEGACY, PER_THREAD):
            launch(kernel, ONE, ONE, arguments, 0, stream)
        launch(None, ONE, ONE, arguments, 0, 0)
        runtime.cudaDeviceSynchronize()
        runtime.note("numbers", runtime.ints(numbers, 1))
        runtime.cudaGetLastError()


def the_threads_own_stream_is_another(runtime):
    """A kernel of the own stream ends while one of a stream that it does not wait for runs."""
    flag = runtime.handle("cudaHostAlloc", 4, 0)
    word = c_int.from_address(flag)
    word.value = 0
    stream = runtime.handle("cudaStreamCreateWithFlags", 1)
    wait = runtime.kernel("wait_flag")
    runtime.cudaLaunchKernel(wait, ONE, ONE, _arguments(c_uint64(flag)), 0, stream)
    kernel = runtime.kernel("empty")
    runtime.cudaLaunchKernel_ptsz(kernel, ONE, ONE, _arguments(), 0, 0)
    runtime.cudaStreamSynchronize(PER_THREAD)
    runtime.cudaStreamQuery(stream)
    word.value = 1
    runtime.cudaDeviceSynchronize()
