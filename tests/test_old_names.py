"""Names that were public before some were renamed: each still works, and the old ones warn."""

import pickle
import warnings

import images
import numpy as np
import pytest

import cupola
from cupola import kernels

NAMES = """
ArgumentError ArgumentTypeError ArgumentValueError Array Chunk ChunkError CompileError Device
DriverError Error Event ExchangeError Graph GraphExec ImageError In InOut Kernel Launch
LibraryError Memory MissingFileError Module NotFoundError Out OutOfMemoryError Pool Profile Stream
UnknownNameError __version__ alloc asarray build compile convolve devices driver empty empty_like
exceptions from_dlpack full full_like get_include hello load managed mandelbrot memory_info ones
ones_like paths pinned_empty pipeline profile register_host saxpy shipped_kernels to_device zeros
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
        index max_block max_grid max_threads_per_block memory multiprocessors name pool
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
        shared_bytes signature suggest title
    """,
    "Launch": """
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
        call capture capturing current device device_index done from_handle handle
        legacy non_blocking per_thread priorities priority record synchronize wait
    """,
}

RENAMED = {"Launch": "PreparedLaunch", "pinned_empty": "empty_pinned"}
RENAMED_ATTRIBUTES = {
    "Device.multiprocessors": "multiprocessor_count",
    "Kernel.suggest": "max_potential_block_size",
    "Stream.call": "launch_host_func",
}


def warned(old, new):
    """The warning, in the file of the test, where the name is used."""
    return pytest.warns(DeprecationWarning, match=rf"{old} is deprecated: use {new}")


@pytest.mark.parametrize("name", NAMES.split())
def test_a_public_name_stays(name):
    if name in RENAMED:
        with warned(f"cupola.{name}", f"cupola.{RENAMED[name]}") as seen:
            thing = getattr(cupola, name)
        assert thing is getattr(cupola, RENAMED[name]) and seen[0].filename == __file__
        assert name not in cupola.__all__
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(cupola, name) is not None
    assert name in cupola.__all__


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_public_attribute_stays(name):
    kind = getattr(cupola, RENAMED.get(name, name))
    missing = [attribute for attribute in ATTRIBUTES[name].split() if not hasattr(kind, attribute)]
    assert not missing


@pytest.mark.parametrize("old", RENAMED_ATTRIBUTES)
def test_an_old_attribute_names_the_new_one(old):
    kind, name = old.split(".")
    attribute = getattr(getattr(cupola, kind), name)
    assert RENAMED_ATTRIBUTES[old] in attribute.__doc__
    assert hasattr(getattr(cupola, kind), RENAMED_ATTRIBUTES[old])


def test_old_names_are_imported():
    with warned("cupola.Launch", "cupola.PreparedLaunch"):
        from cupola import Launch
    with warned("cupola.pinned_empty", "cupola.empty_pinned"):
        from cupola import pinned_empty
    assert Launch is cupola.PreparedLaunch and pinned_empty is cupola.empty_pinned


def test_the_module_of_nvrtc_is_found_by_its_old_name():
    from cupola.toolkit import nvrtc

    with warned("cupola.nvrtc", "cupola.toolkit.nvrtc") as seen:
        assert cupola.nvrtc is nvrtc
    assert seen[0].filename == __file__
    with warned("cupola.nvrtc", "cupola.toolkit.nvrtc"):
        from cupola import nvrtc as old
    assert old is nvrtc


def test_pinned_empty(driver):
    with warned("cupola.pinned_empty", "cupola.empty_pinned"):
        made = cupola.pinned_empty((2, 3), np.int16)
    assert made.shape == (2, 3) and made.dtype == np.int16


def test_kernel_suggest(driver):
    kernel = cupola.shipped_kernels()["saxpy"]
    with warned("Kernel.suggest", "max_potential_block_size"):
        assert kernel.suggest(shared=64) == kernel.max_potential_block_size(64)


def test_device_multiprocessors(driver):
    device = cupola.Device()
    with warned("Device.multiprocessors", "multiprocessor_count"):
        assert device.multiprocessors == device.multiprocessor_count >= 1


def test_stream_call(driver):
    stream, seen = cupola.Stream(), []
    with warned("Stream.call", "launch_host_func") as warning:
        stream.call(seen.append, 1)
    stream.synchronize()
    assert seen == [1] and warning[0].filename == __file__


def test_a_prepared_launch_has_its_new_name(driver):
    x = cupola.zeros(4, np.float32)
    launch = cupola.shipped_kernels()["saxpy"].prepare(1, 32, 1.0, x, x, x, 4)
    assert type(launch) is cupola.PreparedLaunch
    assert repr(launch).startswith("<cupola.PreparedLaunch saxpy")
    assert type(launch).__qualname__ == "PreparedLaunch"
    assert pickle.loads(pickle.dumps(cupola.PreparedLaunch)) is cupola.PreparedLaunch
    from cupola.launch import Launch  # as compiled modules cimport it

    assert Launch is cupola.PreparedLaunch


def test_pdl(driver):
    """Both keywords, where the device has programmatic dependent launches."""
    if cupola.Device().compute_capability < (9, 0):
        pytest.skip("needs compute capability 9.0")
    kernel = images.module("ptx")["increment"]
    x = cupola.zeros(1, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel.launch(1, 1, x, 1, programmatic_dependent_launch=True)
        prepared = kernel.prepare(1, 1, x, 1, programmatic_dependent_launch=True)
    for use in (kernel.launch, kernel.prepare):
        with warned("pdl=", "programmatic_dependent_launch=") as seen:
            old = use(1, 1, x, 1, pdl=True)
        assert seen[0].filename == __file__ and len(seen) == 1
    with warned("pdl=", "programmatic_dependent_launch="):
        made = cupola.PreparedLaunch(kernel, 1, 1, (x, 1), pdl=True)
    for launch in (prepared, old, made):
        _, _, _, _, _, attributes = launch.__reduce__()[1]
        assert attributes == {"programmatic_dependent_launch": True}
        launch()
    assert x.item() == 5


def test_shipped_kernels_are_in_their_module_and_at_the_top(driver):
    for name in ("mandelbrot", "saxpy", "convolve", "hello", "shipped_kernels"):
        assert getattr(cupola, name) is getattr(kernels, name)
