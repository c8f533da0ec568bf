"""Objects made by __new__ alone, as a subclass without super().__init__() would: no crash."""

from functools import partial

import pytest

import cupola
from cupola import pipelines, profiler

USES = {
    "Stream": [
        "handle",
        "synchronize()",
        "done",
        "wait(x)",
        "record()",
        "__enter__()",
        "__repr__()",
        "__hash__()",
    ],
    "Event": ["handle", "synchronize()", "done", "record()", "elapsed_since(x)", "__repr__()"],
    "Array": [
        "address",
        "get()",
        "set([1])",
        "fill(1)",
        "copy()",
        "reshape(1)",
        "ravel()",
        "T",
        "view('i4')",
        "field('a')",
        "strides",
        "flags",
        "host",
        "prefetch()",
        "advise('read_mostly')",
        "__getitem__(0)",
        "__setitem__(0, 1)",
        "__cuda_array_interface__",
        "__dlpack__()",
        "__dlpack_device__()",
        "free()",
        "__len__()",
        "__repr__()",
        "__reduce__()",
    ],
    "Memory": [
        "copy_from(b'a')",
        "copy_from(b'')",
        "copy_to(bytearray(1))",
        "fill()",
        "ipc_handle()",
        "part(0, 0)",
        "release()",
        "__enter__()",
        "__repr__()",
    ],
    "Pool": ["used", "trim()", "device", "release_threshold", "__repr__()"],
    "Kernel": ["launch(1,1)", "params", "registers", "forall(3)", "prepare(1,1)", "__repr__()"],
    "PreparedLaunch": [
        "__call__()",
        "__getitem__(0)",
        "__setitem__(0,1)",
        "__len__()",
        "__repr__()",
    ],
    "Module": ["kernels", "__getitem__('a')", "globals['a']", "__repr__()"],
}


STEPS = ["fill(0)", "upload()", "launch()", "download()", "drain()"]
INNER = {
    pipelines.Slot: [
        *STEPS, "chunk", "device", "inputs", "outputs", "staging", "ready", "__repr__()",
    ],
    pipelines.Pipeline: [
        "run()", "chunks", "chunk(0)", "failed()", "add_slot(cupola.Stream(), ())",
        "set_function(print)", "set_progress(print, 1.0)", "finish(True)", "__repr__()",
    ],
    pipelines.Chunk: ["length", "rows", "__repr__()"],
    profiler.Recording: ["stop()"],
}  # fmt: skip


@pytest.mark.parametrize("kind", [*USES, *INNER], ids=str)
def test_no_use_crashes(driver, kind):
    uses = USES.get(kind) or INNER[kind]
    kind = getattr(cupola, kind) if isinstance(kind, str) else kind
    made = kind.__new__(kind)
    for use in uses:
        try:
            eval(f"x.{use}", {"x": made, "cupola": cupola})
        except Exception as error:
            assert not isinstance(error, SystemError), use
    del made


def test_a_stream_that_was_never_made_is_refused(driver):
    class Mine(cupola.Stream):
        def __init__(self):
            pass

    for use in (cupola.Stream.wait, lambda s, other: cupola.empty(3, stream=other)):
        with pytest.raises(cupola.ArgumentError, match="never initialized"):
            use(cupola.Stream(), Mine())


def test_a_kernel_with_its_grid_that_was_never_made(driver):
    ready = type(cupola.shipped_kernels()["saxpy"][1, 1])
    made = ready.__new__(ready)
    for use in (made, made.__repr__):
        with pytest.raises(cupola.ArgumentError, match="never initialized"):
            use()
    kernel = cupola.Kernel.__new__(cupola.Kernel)
    for use in (kernel.launch, kernel.prepare, partial(cupola.Graph().add_kernel, kernel)):
        with pytest.raises(cupola.ArgumentError, match="never initialized"):
            use(1, 1)
    with pytest.raises(cupola.ArgumentError, match="never initialized"):
        cupola.PreparedLaunch(kernel, 1, 1, ())


def test_an_array_that_was_never_made_is_no_null_pointer(driver):
    made = cupola.Array.__new__(cupola.Array)
    kernel = cupola.shipped_kernels()["saxpy"]
    with pytest.raises(cupola.ArgumentError):
        kernel[1, 1](2.0, made, made, made, 0)
    for use in (cupola.asarray, cupola.to_device):
        with pytest.raises(cupola.ArgumentError, match="never initialized"):
            use(made)
