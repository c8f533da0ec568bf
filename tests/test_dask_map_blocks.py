"""cupola.distributed.map_blocks: a launch for each block."""

import dask
import dask.array as da
import numpy as np
import pytest
from row_kernels import ROWS

import cupola
from cupola.distributed import Block, map_blocks
from cupola.exceptions import ArgumentError, Error

SOURCE = r"""
extern "C" __global__ void add(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}
extern "C" __global__ void place(int* out, int row, int column, int width, int number, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = 1000 * (row + i / width) + 10 * (column + i % width) + number;
}
extern "C" __global__ void count(const float* x, int* out, int n) {
    extern __shared__ int sums[];
    if (threadIdx.x == 0) sums[0] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (x[i] > 0) atomicAdd(sums, 1);
    __syncthreads();
    if (threadIdx.x == 0) out[0] = sums[0];
}
extern "C" __global__ void gather(const float* table, const int* at, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[at[i]];
}
"""
HOST = np.arange(1000, dtype="f4")


@pytest.fixture(scope="module")
def module():
    return cupola.compile(SOURCE)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("is_on_device", [False, True])
def test_the_default_arguments(module, is_on_device):
    x = da.from_array(HOST, chunks=300)
    if is_on_device:
        x = x.to_backend("cupola")
    z = map_blocks(module["add"], x, x * 2)
    assert isinstance(z._meta, cupola.Array)
    assert (z.dtype, z.chunks) == (np.dtype("f4"), ((300, 300, 300, 100),))
    found = z.compute()
    assert isinstance(found, cupola.Array) and np.array_equal(found.get(), 3 * HOST)


def test_strided_blocks_are_packed(module):
    host = np.arange(120, dtype="f4").reshape(10, 12)
    x = da.from_array(cupola.to_device(host), chunks=(4, 5)).T
    assert np.array_equal(map_blocks(module["add"], x, x).compute().get(), 2 * host.T)


def test_values_of_blocks_stand_for_arguments(module):
    x = da.zeros((7, 9), dtype="i4", chunks=(3, 4))
    found = map_blocks(
        module["place"],
        x,
        arguments=[
            Block.output,
            lambda block: block.start[0],
            lambda block: block.start[1],
            lambda block: block.shape[1],
            Block.number,
            Block.size,
        ],
        threads=1,
        block=32,
    ).compute()
    rows, columns = np.indices((7, 9))
    number = rows // 3 * 3 + columns // 4
    assert np.array_equal(found.get(), 1000 * rows + 10 * columns + number)


def test_chunks_grid_and_shared_memory(module):
    x = da.from_array(HOST - 500, chunks=300)
    found = map_blocks(
        module["count"],
        x,
        arguments=[x, Block.output, lambda block: block.inputs[0].size],
        dtype="i4",
        chunks=((1,) * 4,),
        grid=1,
        block=64,
        shared=4,
    ).compute()
    assert found.get().tolist() == [0, 99, 300, 100]


def test_device_arrays_are_the_same_for_every_block(module):
    table = cupola.to_device(HOST[::-1].copy())
    at = da.from_array(np.arange(0, 1000, 3, dtype="i4"), chunks=100)
    arguments = [table, at, Block.output, Block.size]
    z = map_blocks(module["gather"], at, arguments=arguments, dtype="f4")
    assert np.array_equal(z.compute().get(), HOST[::-1][::3])


def test_empty_blocks_are_not_launched(module):
    x = da.from_array(HOST, chunks=((0, 1000, 0),))
    assert np.array_equal(map_blocks(module["add"], x, x).compute().get(), 2 * HOST)


def test_equal_calls_have_equal_keys(module):
    x = da.from_array(HOST, chunks=300)
    one, other = (map_blocks(module["add"], x, x) for _ in range(2))
    assert one.name == other.name
    assert one.name != map_blocks(module["add"], x, x, block=32).name


def test_the_kernel_is_one_task(module):
    """Workers fetch the launch by its key; the tasks of blocks do not carry the image."""
    x = da.from_array(HOST, chunks=10)
    graph = map_blocks(module["add"], x, x).dask
    assert len([key for key in graph if str(key).startswith("launch-add-")]) == 1


def test_an_error_names_kernel_and_block(module):
    x = da.from_array(HOST, chunks=300)
    z = map_blocks(module["add"], x, x, arguments=[x, x, Block.output, lambda block: "n"])
    with pytest.raises(Error, match=r"add: block \(\d,\) on process .*argument 3"):
        z.compute()

    def fail(block):
        if block.number == 2:
            raise KeyError("here")
        return block.size

    z = map_blocks(module["add"], x, x, arguments=[x, x, Block.output, fail])
    with pytest.raises(Error, match=r"add: block \(2,\) on process .*KeyError: 'here'"):
        z.compute()


def test_bad_calls(module):
    x = da.from_array(HOST, chunks=300)
    add = module["add"]
    for call, message in [
        (lambda: map_blocks(max, x), "launches a cupola.Kernel"),
        (lambda: map_blocks(add), "takes Dask arrays, got none"),
        (lambda: map_blocks(add, HOST, x), "got ndarray, Array; make one with"),
        (lambda: map_blocks(add, x), r"2 arguments for 4 parameters \(x, y, out, n\)"),
        (lambda: map_blocks(add, x, x, arguments=[x, x + 1, Block.output, 3]), "argument 1"),
        (lambda: map_blocks(add, x, arguments=[x, HOST, Block.output, 3]), "argument 1 is a host"),
        (lambda: map_blocks(add, x, x, grid=3), "grid= needs block="),
        (lambda: map_blocks(add, x, x, grid=3, block=3, threads=3), "pass only one"),
        (lambda: map_blocks(add, x, x, arguments="xyz"), "must be a list or tuple"),
        (lambda: map_blocks(add, x[x > 0], x[x > 0]), "compute_chunk_sizes"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()


@pytest.fixture(scope="module", params=["float", "unsigned char", "double"])
def rows(request):
    dtype = {"float": "f4", "double": "f8"}.get(request.param, "u1")
    return cupola.compile(ROWS, options=[f"-DELEMENT={request.param}"]), dtype


@pytest.mark.parametrize(
    ("name", "options"),
    [("row_sums", {"drop_axis": 1}), ("rows", {}), ("plane", {})],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_kernel_whose_rows_are_blocks_needs_its_grid(rows, name, options):
    module, dtype = rows
    x = da.ones((600, 40), dtype="f4", chunks=(300, 40))
    options = {**options, "arguments": [x, Block.output, 40], "dtype": dtype}
    with pytest.raises(Error, match=r"its rows are blocks of the grid; pass grid= and block="):
        map_blocks(module[name], x, **options).compute()
    block = (64, 4) if name == "plane" else 64
    found = map_blocks(
        module[name],
        x,
        grid=lambda block: (1, block.shape[0] // 4) if name == "plane" else block.shape[0],
        block=block,
        **options,
    ).compute()
    assert found.size == (600 if name == "row_sums" else 24000)
    assert (found.get() == (40 if name == "row_sums" else 2)).all()


@pytest.mark.parametrize("name", ["ahead", "zeros", "nothing"])
@pytest.mark.parametrize("shape", [(600,), (30, 40), (2, 600), (3,), (1, 1000)])
def test_other_kernels_may_leave_elements_out(rows, name, shape):
    module, dtype = rows
    x = da.from_array(np.arange(np.prod(shape), dtype="f4").reshape(shape), chunks=-1)
    arguments = [x, Block.output, Block.size]
    found = map_blocks(module[name], x, dtype=dtype, arguments=arguments).compute()
    if name != "nothing":
        written = found.get().reshape(-1)[:-1]
        assert (written == (2 if name == "ahead" else 0)).all()


def test_a_number_of_threads_is_taken_as_right(rows):
    module, dtype = rows
    x = da.ones((300, 40), dtype="f4", chunks=(300, 40))
    arguments = [x, Block.output, 40]
    found = map_blocks(
        module["row_sums"], x, drop_axis=1, dtype=dtype, arguments=arguments, threads=Block.size
    )
    assert found.compute().get()[0] == 40
