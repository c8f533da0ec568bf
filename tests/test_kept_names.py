"""Public names: those that programs use stay, and each thing has one name."""

import pickle

import images
import numpy as np
import pytest

import cupola
from cupola import kernels

NAMES = """
ArgumentError ArgumentTypeError ArgumentValueError Array Chunk ChunkError CompileError Device
DriverError Error Event ExchangeError Graph GraphExec ImageError In InOut Kernel PreparedLaunch
LibraryError Memory MissingFileError Module NotFoundError Out OutOfMemoryError Pool Profile Stream
UnknownNameError __version__ alloc asarray build compile convolve devices driver empty empty_like
exceptions from_dlpack full full_like get_include hello load managed mandelbrot memory_info ones
ones_like paths empty_pinned pipeline profile register_host saxpy shipped_kernels to_device zeros
zeros_like
"""

ATTRIBUTES = {
    "Array": """
        T address advise all any argmax argmin astype copy device device_index dot dtype
        field fill flags free from_address get host item itemsize max mean min nbytes
        ndim prefetch prod ptr ravel reshape set shape size strides sum transpose view
    """,
    "Chunk": """
        index length rows start stop
    """,
    "Device": """
        attribute can_access compute_capability disable_peer_access enable_peer_access
        index max_block max_grid max_threads_per_block memory multiprocessor_count name pool
        shared_bytes_per_block synchronize warp_size
    """,
    "Event": """
        device device_index done elapsed_since from_ipc_handle handle ipc_handle record
        synchronize
    """,
    "Graph": """
        add_child add_copy add_edge add_empty add_fill add_host add_kernel device
        device_index dot_body edges handle hold instantiate nodes to_dot to_png
    """,
    "GraphExec": """
        device device_index handle launch update upload
    """,
    "In": """
        array
    """,
    "InOut": """
        array
    """,
    "Kernel": """
        attribute attributes declare demangled device device_index forall handle launch
        local_bytes max_threads module name occupancy params prepare registers
        shared_bytes signature max_potential_block_size title
    """,
    "PreparedLaunch": """
        block grid kernel shared stream
    """,
    "Memory": """
        address copy_from copy_to device_index fill from_ipc_handle ipc_handle managed
        nbytes part pinned release
    """,
    "Module": """
        device device_index globals image kernel kernels loaded log name on unload
    """,
    "Out": """
        array
    """,
    "Pool": """
        device device_index release_threshold reserved reserved_high reset_high trim
        used used_high
    """,
    "Profile": """
        range save save_png trace
    """,
    "Stream": """
        launch_host_func capture capturing current device device_index done from_handle handle
        legacy non_blocking per_thread priorities priority record synchronize wait
    """,
}


@pytest.mark.parametrize("name", NAMES.split())
def test_a_public_name_stays(name):
    assert getattr(cupola, name) is not None
    assert name in cupola.__all__


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_public_attribute_stays(name):
    kind = getattr(cupola, name)
    missing = [attribute for attribute in ATTRIBUTES[name].split() if not hasattr(kind, attribute)]
    assert not missing


@pytest.mark.parametrize(
    "old",
    ["Launch", "pinned_empty", "nvrtc", "deprecation", "Kernel.suggest", "Stream.call",
     "Device.multiprocessors"],
)  # fmt: skip
def test_a_thing_has_one_name(old):
    kind, _, name = old.rpartition(".")
    assert not hasattr(getattr(cupola, kind) if kind else cupola, name)


def test_a_prepared_launch_has_its_public_name(driver):
    x = cupola.zeros(4, np.float32)
    launch = cupola.shipped_kernels()["saxpy"].prepare(1, 32, 1.0, x, x, x, 4)
    assert type(launch) is cupola.PreparedLaunch
    assert repr(launch).startswith("<cupola.PreparedLaunch saxpy")
    assert type(launch).__qualname__ == "PreparedLaunch"
    assert pickle.loads(pickle.dumps(cupola.PreparedLaunch)) is cupola.PreparedLaunch
    from cupola.launch import Launch  # as compiled modules cimport it

    assert Launch is cupola.PreparedLaunch


def test_a_prepared_launch_keeps_its_attributes(driver):
    if cupola.Device().compute_capability < (9, 0):
        pytest.skip("needs compute capability 9.0")
    kernel = images.module("ptx")["increment"]
    x = cupola.zeros(1, np.int32)
    kernel.launch(1, 1, x, 1, programmatic_dependent_launch=True)
    prepared = kernel.prepare(1, 1, x, 1, programmatic_dependent_launch=True)
    made = cupola.PreparedLaunch(kernel, 1, 1, (x, 1), programmatic_dependent_launch=True)
    for launch in (prepared, made):
        _, _, _, _, _, attributes = launch.__reduce__()[1]
        assert attributes == {"programmatic_dependent_launch": True}
        launch()
    assert x.item() == 3
    for use in (kernel.launch, kernel.prepare):
        with pytest.raises(TypeError, match="pdl"):
            use(1, 1, x, 1, pdl=True)


def test_shipped_kernels_are_in_their_module_and_at_the_top(driver):
    for name in ("mandelbrot", "saxpy", "convolve", "hello", "shipped_kernels"):
        assert getattr(cupola, name) is getattr(kernels, name)
