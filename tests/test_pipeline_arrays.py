"""Arrays of pipelines: types, strides, files and other buffers, page-locked memory, overlap."""

import array
import mmap

import numpy as np
import pytest
from pipeline_kernels import add, module, numbers
from working import refused

import cupola
from cupola import Chunk

__all__ = ["add", "module"]


@pytest.mark.parametrize("chunk", [1, 16, 37, 500])
def test_rows_may_have_several_types_and_shapes(module, chunk):
    n, width = 333, 11
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, width)).astype(np.float32)
    mask, weights = rng.random(n) < 0.5, rng.random(width).astype(np.float32)
    sums, counts = np.empty(n), np.empty((n, 2), np.int16)
    table = cupola.to_device(weights)
    answer = cupola.pipeline(
        module["rows"],
        (x, mask),
        [sums, counts],
        arguments=(x, mask, table, sums, counts, Chunk.length, width, Chunk.start),
        threads=Chunk.length,
        chunk=chunk,
        staging=True,
    )
    assert answer[0] is sums and answer[1] is counts
    expected = np.zeros(n)
    for i in range(width):
        expected += x[:, i].astype(float) * weights[i]
    np.testing.assert_array_equal(sums, np.where(mask, expected, -1))
    np.testing.assert_array_equal(counts[:, 0], (x > 0).sum(axis=1))
    np.testing.assert_array_equal(counts[:, 1], np.arange(n) % 1000)


STRIDED = {
    "every second row": lambda a: a[::2],
    "rows backwards": lambda a: a[::-1],
    "some columns": lambda a: a[:, 3:17:2],
    "columns backwards": lambda a: a[:, ::-1],
    "transposed": lambda a: a.T,
    "one column": lambda a: a[:, 2:3],
    "three axes": lambda a: a.reshape(20, 5, 20)[:, ::2, 1:7],
    "a part of each row": lambda a: a[:, :9],
    "turned": lambda a: a.reshape(5, 20, 20).transpose(2, 0, 1),
}


@pytest.mark.parametrize("how", STRIDED)
@pytest.mark.parametrize("chunk", [1, 3, 64])
def test_arrays_may_be_strided(add, how, chunk):
    base = numbers(100, 20)
    x = STRIDED[how](base)
    there = np.full((100, 20), 7, np.int32)
    out = STRIDED[how](there)
    cupola.pipeline(add, x, out, chunk=chunk)
    np.testing.assert_array_equal(out, x + 1)
    untouched = np.full((100, 20), 7, np.int32)
    STRIDED[how](untouched)[...] = x + 1
    np.testing.assert_array_equal(there, untouched)


def some_view(base, rng):
    """A view of a part of the array, with permuted axes and strides of any sign."""
    view = base.transpose(rng.permutation(base.ndim))
    where = []
    for length in view.shape:
        start, stop = sorted(rng.integers(0, length + 1, 2))
        part = slice(start, stop) if stop > start and rng.random() < 0.4 else slice(None)
        where.append(part)
    view = view[tuple(where)]
    return view[tuple(slice(None, None, int(rng.choice([1, 1, 2, 3, -1, -2]))) for _ in where)]


@pytest.mark.parametrize("seed", range(40))
def test_random_strides_are_copied_both_ways(driver, seed):
    """The output equals the input, and memory beside it is unchanged."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 12, rng.integers(1, 5))
    dtype = rng.choice(["u1", "i2", "f4", "f8", "c16", "S3", "S70"])
    base = rng.integers(0, 100, shape).astype(dtype)
    x = some_view(base, rng)
    # A view of the same shape, laid out by another rule: turned axes, and gaps.
    room = np.zeros([2 * length for length in reversed(x.shape)], dtype)
    out = room.transpose()[tuple(slice(0, 2 * length, 2) for length in x.shape)]
    cupola.pipeline(
        lambda chunk, stream, inputs, outputs: outputs[0].set(inputs[0], stream=stream),
        x,
        out,
        chunk=int(rng.integers(1, 5)),
        streams=int(rng.integers(1, 4)),
        staging=bool(rng.integers(0, 2)),
    )
    np.testing.assert_array_equal(out, x)
    out[...] = np.zeros((), dtype)
    assert not room.any()


def test_large_rows_are_divided_among_threads(add):
    base = numbers(3, 700_000, 2)
    for x in (base[:, :, 0], base[:, ::-1], base.transpose(2, 1, 0)):
        out = np.zeros(x.shape, np.int32)
        cupola.pipeline(add, x, out, chunk=2, staging=True)
        np.testing.assert_array_equal(out, x + 1)


def test_rows_may_be_broadcast(add):
    x = np.broadcast_to(numbers(30), (50, 30))
    out = np.zeros((50, 30), np.int32)
    cupola.pipeline(add, x, out, chunk=7)
    np.testing.assert_array_equal(out, x + 1)


def test_arrays_may_be_mapped_files(add, tmp_path):
    x = numbers(10_001)
    x.tofile(tmp_path / "x")
    source = np.memmap(tmp_path / "x", np.int32, "r")
    target = np.memmap(tmp_path / "out", np.int32, "w+", shape=x.shape)
    assert cupola.pipeline(add, source, target, chunk=1000, staging=True) is target
    target.flush()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out", np.int32), x + 1)


def test_arrays_may_be_other_buffers(add):
    x, out = array.array("i", range(100)), array.array("i", [0] * 100)
    cupola.pipeline(add, x, out, chunk=9)
    assert list(out) == list(range(1, 101))
    cupola.pipeline(add, memoryview(x), memoryview(out)[::-1], chunk=9)
    assert list(out) == list(range(100, 0, -1))
    copy = lambda chunk, stream, inputs, outputs: outputs[0].set(inputs[0])
    target = bytearray(1000)
    with mmap.mmap(-1, 1000) as pages:
        cupola.pipeline(copy, bytes(range(250)) * 4, pages, chunk=99)
        cupola.pipeline(copy, pages, target, chunk=99)
    assert target == bytes(range(250)) * 4
    with refused(cupola.ArgumentValueError, saying="read-only"):
        cupola.pipeline(copy, target, bytes(1000))
    for wrong in ([0] * 100, (5,)):
        with refused(cupola.ArgumentTypeError):
            cupola.pipeline(add, x, [wrong], chunk=9)


def staged(**given):
    """Returns which arrays of a pipeline have their own page-locked memory."""
    found = []

    def schedule(pipeline):
        found.extend(memory is not None for memory in pipeline.slots[0].staging)
        pipeline.run()

    cupola.pipeline(schedule=schedule, **given)
    return found


def test_page_locked_memory_is_not_staged(add):
    x, out, pageable = numbers(500), np.zeros(500, np.int32), np.zeros(500, np.int32)
    pinned = cupola.empty_pinned(500, np.int32)
    pinned[:] = x
    with cupola.register_host(out):
        assert staged(kernel=add, inputs=pinned, outputs=out, chunk=100, staging=True) == [0, 0]
    np.testing.assert_array_equal(out, x + 1)
    assert staged(kernel=add, inputs=x, outputs=pinned, chunk=100, staging=True) == [1, 0]
    np.testing.assert_array_equal(pinned, x + 1)
    assert staged(kernel=add, inputs=pinned[::-1], outputs=pageable, staging=False) == [1, 0]
    np.testing.assert_array_equal(pageable, x[::-1] + 2)
    half = np.zeros(500, np.int32)
    with cupola.register_host(half[:250]):
        assert staged(kernel=add, inputs=x, outputs=half, staging=True) == [1, 1]
    np.testing.assert_array_equal(half, x + 1)


def test_a_pipeline_may_work_in_place(module):
    x = numbers(1003)
    for given in (x, x[:], x[::-1]):
        before = given.copy()
        cupola.pipeline(module["add_in_place"], given, given, chunk=100)
        np.testing.assert_array_equal(given, before + 1)
    before = x.copy()
    cupola.pipeline(module["add_in_place"], x[:], x, arguments=(x, Chunk.length), chunk=100)
    np.testing.assert_array_equal(x, before + 1)


def test_overlapping_arrays_are_refused(add):
    x = numbers(1000)
    for source, target in ((x[1:], x[:-1]), (x, x[::-1]), (x[:600], x[400:])):
        with refused(cupola.ArgumentValueError, saying="shares memory"):
            cupola.pipeline(add, source, target)
    before = x.copy()
    cupola.pipeline(add, x[::2], x[1::2], chunk=30)
    np.testing.assert_array_equal(x[1::2], before[::2] + 1)


NESTED = np.dtype([("a", ">f4", (1,))])  # NumPy's isnative does not see the order in it


def copied_by_a_pipeline(source, target):
    def copy(chunk, stream, inputs, outputs):
        outputs[0].set(inputs[0], stream=stream)

    cupola.pipeline(copy, inputs=source, outputs=target, chunk=3)


@pytest.mark.parametrize("dtype", [np.dtype(">f4"), NESTED])
def test_arrays_in_another_byte_order_are_converted_by_the_printed_lines(driver, dtype):
    source, result = np.arange(10).astype(dtype), np.zeros(10, dtype)
    native = source.astype(dtype.newbyteorder("="))
    with refused(cupola.ArgumentTypeError, saying="input 0") as caught:
        copied_by_a_pipeline(source, result)
    assert "pass native = array.astype(array.dtype.newbyteorder('='))" in str(caught.value)
    with refused(cupola.ArgumentTypeError, saying="output 0") as caught:
        copied_by_a_pipeline(native, result)
    assert "run array[...] = native after the call" in str(caught.value)
    written = result.astype(result.dtype.newbyteorder("="))
    copied_by_a_pipeline(native, written)
    result[...] = written
    np.testing.assert_array_equal(result, source)


def test_elements_of_another_type_are_refused_in_words_for_a_host_array(module):
    typed = {"add": "const int* x, int* out, unsigned n"}
    add = cupola.load(module.image, signatures=typed)["add"]
    source, out = np.zeros(10), np.zeros(10)
    with refused(cupola.ArgumentTypeError, saying=["a host array of float64", "astype('i4')"]):
        cupola.pipeline(add, source, out)
    converted = out.astype("i4")
    cupola.pipeline(add, source.astype("i4"), converted)
    out[...] = converted
    assert out.tolist() == [1] * 10
