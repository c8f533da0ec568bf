"""Pipelines whose default grid leaves out elements that the kernel should write."""

import numpy as np
import pytest
from row_kernels import ROWS
from working import assert_works

import cupola
from cupola import Chunk


@pytest.fixture(scope="module", params=["float", "unsigned char", "double"])
def rows(request):
    dtype = {"float": "f4", "double": "f8"}.get(request.param, "u1")
    return cupola.compile(ROWS, options=[f"-DELEMENT={request.param}"]), dtype


def in_order(pipeline):
    """A schedule that has the first chunk in the last slot."""
    slot = pipeline.slots[-1]
    for chunk in pipeline.chunks:
        for step in ("fill", "upload", "launch", "download", "drain"):
            getattr(slot, step)(*[chunk] * (step == "fill"))


@pytest.mark.parametrize("schedule", [None, in_order])
@pytest.mark.parametrize("chunk", [1000, 300, 7])
@pytest.mark.parametrize("name", ["row_sums", "rows", "plane"])
def test_a_kernel_whose_rows_are_blocks_needs_its_grid(driver, rows, name, chunk, schedule):
    module, dtype = rows
    if name == "row_sums" and chunk == 7:
        chunk = 70  # the sums of fewer rows than 64 are not checked
    if name == "plane":
        chunk = max(chunk, 20)
    kernel, x = module[name], np.ones((600, 40), "f4")
    out = np.zeros(600 if name == "row_sums" else (600, 40), dtype)
    done = []
    options = {
        "arguments": [x, out, 40], "chunk": chunk, "schedule": schedule,
        "progress": lambda rows, _: done.append(rows),
    }  # fmt: skip
    with pytest.raises(cupola.ArgumentValueError, match=r"rows are blocks of the grid; pass grid="):
        cupola.pipeline(kernel, x, out, **options)
    assert schedule or not done  # the call ends with the first chunk
    height = 4 if name == "plane" else 1
    cupola.pipeline(
        kernel, x, out, block=(64, height),
        grid=lambda chunk: (1, -(-chunk.length // height)) if name == "plane" else chunk.length,
        **options,
    )  # fmt: skip
    assert (out == (40 if name == "row_sums" else 2)).all()
    assert done[-1] == 600
    assert_works()


@pytest.mark.parametrize("staging", [True, False])
@pytest.mark.parametrize("name", ["ahead", "zeros", "nothing"])
@pytest.mark.parametrize("shape", [(600,), (30, 40), (2, 600), (3,)])
def test_other_kernels_may_leave_elements_out(driver, rows, name, shape, staging):
    module, dtype = rows
    x = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    out = np.ones(shape, dtype)
    cupola.pipeline(module[name], x, out, staging=staging)
    if name != "nothing":
        assert (out.reshape(-1)[:-1] == (2 if name == "ahead" else 0)).all()


def test_a_number_of_threads_is_taken_as_right(driver, rows):
    module, dtype = rows
    x, out = np.ones((300, 40), "f4"), np.zeros(300, dtype)
    cupola.pipeline(
        module["row_sums"], x, out, arguments=[x, out, 40], threads=lambda chunk: chunk.length
    )
    assert out[0] == 40


def test_outputs_that_are_inputs_are_not_marked(driver, rows):
    module, _ = rows
    x = np.arange(600, dtype="f4")
    if rows[1] == "f4":
        cupola.pipeline(module["nothing"], x, x, arguments=[x, x, Chunk.length])
    np.testing.assert_array_equal(x, np.arange(600, dtype="f4"))
