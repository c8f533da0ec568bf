"""Sixteen threads on the same objects; each result is compared element by element.

Without a GIL the threads run at the same time. With it they change at almost every call.
"""

import contextlib
import os
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor

import families
import images
import numpy as np
import operations
import pipeline_kernels
import pytest
from test_op import made

import cupola

THREADS = 16
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
IMPORT_ALL = """
import importlib, importlib.machinery, pathlib, sys
import cupola
folder, suffix = pathlib.Path(cupola.__file__).parent, importlib.machinery.EXTENSION_SUFFIXES[0]
for path in sorted(folder.rglob("*" + suffix)):
    name = ".".join(path.relative_to(folder.parent).parts).removesuffix(suffix)
    importlib.import_module(name)
    print(name, getattr(sys, "_is_gil_enabled", lambda: True)())
"""


@pytest.fixture(autouse=True)
def turns(driver, tmp_path, monkeypatch):
    """Threads change at each opportunity."""
    monkeypatch.setenv("CUPOLA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CUPOLA_TUNE", "tables")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(function, threads=THREADS):
    """The results of function(0) to function(threads - 1), started together."""
    barrier = threading.Barrier(threads, timeout=60)

    def one(index):
        barrier.wait()
        return function(index)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(threads)))


def test_no_module_enables_the_gil():
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    modules = dict(line.split() for line in done.stdout.splitlines())
    assert len(modules) > 40 and set(modules.values()) == {str(not FREE_THREADED)}
    assert "GIL" not in done.stderr


def test_grids_of_one_kernel():
    """Each kernel keeps its last grid and block: a wrong grid would leave elements out."""
    kernel = images.module()["increment"]

    def one(index):
        stream = cupola.Stream(non_blocking=True)
        with stream:
            sizes = [32 * (1 + (index + turn) % 5) for turn in range(30)]
            arrays = [cupola.zeros(size, np.int32) for size in sizes]
            for size, array in zip(sizes, arrays, strict=True):
                kernel[size // 32, 32](array, size)
                kernel[size // 32, 32, stream](array, size)
            return all((array.get() == 2).all() for array in arrays)

    assert all(at_once(one))


def test_configured_kernels_that_a_thread_keeps():
    """A thread uses a configured kernel again where it alone has it; others stay as they are."""
    first, second = (images.module()["increment"] for _ in range(2))

    def one(index):
        stream = cupola.Stream(non_blocking=True)
        with stream:
            array = cupola.zeros(96, np.int32)
            bound = first[3, 32, stream]
            for turn in range(1, 20):
                first[1 + turn % 2, 32](array, 32 * (1 + turn % 2))
                other = second[2, 32]
                first[1, 32, stream](array, 32)
                bound(array, 96)
                assert (bound.grid, bound.kernel, bound.stream) == ((3, 1, 1), first, stream)
                assert (other.grid, other.kernel, other.stream) == ((2, 1, 1), second, None)
            return array.get().tolist()

    assert at_once(one) == [[57] * 32 + [29] * 32 + [19] * 32] * THREADS


def test_arguments_by_name_in_several_orders():
    kernel = images.module("described")["axpy"]

    def one(index):
        x = np.arange(index, index + 64, dtype=np.float32)
        with cupola.Stream():
            there, out = cupola.to_device(x), cupola.zeros(64, np.float32)
            for turn in range(8):
                given = {"a": float(turn), "x": there, "y": there, "out": out, "n": 64}
                order = sorted(given, key=lambda name: hash((name, index % 4)))
                kernel[1, 64](**{name: given[name] for name in order})
                if not np.array_equal(out.get(), turn * x + x):
                    return False
        return True

    assert all(at_once(one))


def test_a_prepared_launch_whose_argument_is_replaced():
    """Each launch increments one of the arrays, whichever it has at that time."""
    stream = cupola.Stream()
    arrays = [cupola.zeros(32, np.int32, stream=stream) for _ in range(THREADS)]
    launch = images.module()["increment"].prepare(1, 32, arrays[0], 32, stream=stream)

    def one(index):
        for _ in range(40):
            if index % 2:
                launch[0] = arrays[index]
                launch[0] = cupola.zeros(32, np.int32, stream=stream)
                launch[0] = arrays[index]
            launch()

    at_once(one)
    launch[0] = arrays[0]
    stream.synchronize()
    counts = [array.get(stream=stream) for array in arrays]
    assert all((count == count[0]).all() for count in counts)
    assert 0 < sum(int(count[0]) for count in counts) <= THREADS * 40


def test_arithmetic_at_its_first_use():
    """Types of results are cached for each operation and each pair of types."""
    dtypes = [np.dtype(code) for code in ("i1", "u2", "i4", "u8", "f4", "f8")]
    ufuncs = (np.add, np.multiply, np.maximum, np.less, np.arctan2, np.hypot)

    def one(index):
        rng = np.random.default_rng(index)
        with cupola.Stream():
            for ufunc in ufuncs:
                for first in dtypes:
                    second = dtypes[(dtypes.index(first) + 1) % len(dtypes)]
                    x = rng.integers(1, 100, 50).astype(first)
                    y = rng.integers(1, 100, 50).astype(second)
                    expected = ufunc(x, y)
                    found = ufunc(cupola.to_device(x), cupola.to_device(y)).get()
                    if found.dtype != expected.dtype:
                        return f"{ufunc} of {first} and {second}: {found.dtype}"
                    if not np.allclose(found, expected, rtol=1e-5):
                        return f"{ufunc} of {first} and {second}: {found} for {expected}"
            total = cupola.to_device(np.arange(1000 + index)).sum()
            return "" if int(total.get()) == sum(range(1000 + index)) else "sum"

    assert at_once(one) == [""] * THREADS


def test_a_declaration_that_is_replaced_during_launches():
    kernel = cupola.load(images.FORMS["ptx"]())["increment"]
    lists = [f"int* {x}, int {n}" for x in ("values", "x") for n in ("n", "count")]
    kernel.declare(lists[0])

    def one(index):
        stream = cupola.Stream(non_blocking=True)
        values = cupola.zeros(32, np.int32, stream=stream)
        bound = kernel[1, 32, stream]
        for turn in range(24):
            if index < 4:
                kernel.declare(lists[(index + turn) % 4])
            kernel[1, 32, stream](values, 32)
            bound(values, 32)
            kernel.prepare(1, 32, values, 32, stream=stream)()
            names = {one.name for one in kernel.params}
            if len(names & {"values", "x"}) != 1 or len(names & {"n", "count"}) != 1:
                return f"the parameters {names}"
        return (values.get(stream=stream) == 72).all()

    assert all(found is np.True_ for found in at_once(one))


def test_a_prepared_launch_while_other_memory_is_freed():
    """Each free lets the launch check its arrays again."""
    stream = cupola.Stream()
    total = cupola.zeros(32, np.int32, stream=stream)
    launch = images.module()["increment"].prepare(1, 32, total, 32, stream=stream)

    def one(_):
        for _ in range(30):
            cupola.zeros(8, np.int32).free()
            cupola.alloc(64).release()
            launch()

    at_once(one)
    assert (total.get(stream=stream) == 30 * THREADS).all()


def test_a_cuda_array_that_another_thread_frees():
    """A copy or a texture that began before has the texels."""
    texels = np.arange(64, dtype=np.float32).reshape(8, 8)
    for _ in range(5):
        array = cupola.CudaArray((8, 8), surface=True)
        array.set(texels)

        def one(index, array=array):
            if index == 5:
                array.free()
            right = True
            with contextlib.suppress(cupola.ArgumentValueError):
                right = (array.get() == texels).all()
                cupola.Texture(array), cupola.Surface(array)
            return right and "CudaArray" in repr(array)

        assert all(at_once(one))
        with pytest.raises(cupola.ArgumentValueError, match="was freed"):
            array.get()


def test_memory_that_other_threads_use_is_freed_once():
    kernel = images.module()["increment"]
    for _ in range(10):
        memory, array = cupola.alloc(256), cupola.zeros(64, np.int32)

        def one(index, memory=memory, array=array):
            stream = cupola.Stream(non_blocking=True)
            if index == 7:
                array.free()
            memory.release()
            done = 0
            for _ in range(5):
                with contextlib.suppress(cupola.ArgumentValueError):
                    kernel[1, 64, stream](array, 64)
                    done += 1
                assert "Array" in repr(array) and "Memory" in repr(memory)
                assert array.memory_nbytes in (0, 256)
                with contextlib.suppress(cupola.ArgumentValueError):
                    assert memory.part(8, 4) > 8
            return done

        assert all(0 <= count <= 5 for count in at_once(one))
        with pytest.raises(ValueError, match="was freed"):
            array.get()


def test_streams_events_and_the_current_stream():
    shared = cupola.Stream(non_blocking=True)

    def one(index):
        own = cupola.Stream(non_blocking=True)
        for turn in range(20):
            before = cupola.Stream.current()
            with own:
                values = cupola.zeros(16, np.int32)
                images.module()["increment"][1, 16](values, 16)
                event = own.record()
                shared.wait(event)
                images.module()["increment"][1, 16, shared](values, 16)
                own.wait(shared.record())
                if cupola.Stream.current() != own or (values.get() != 2).any():
                    return f"turn {turn}"
            if cupola.Stream.current() != before:
                return f"the stream after turn {turn}"
        return ""

    assert at_once(one) == [""] * THREADS


def test_graphs():
    kernel = images.module()["increment"]
    total, graph = cupola.zeros(8, np.int32), cupola.Graph()
    node = graph.add_kernel(kernel, 1, 8, total, 8)
    shared = graph.instantiate()
    cupola.Device().synchronize()

    def one(index):
        stream = cupola.Stream(non_blocking=True)
        own = cupola.zeros(32, np.int32, stream=stream)
        with stream.capture() as captured:
            for _ in range(3):
                kernel[1, 32](own, 32)
        run = captured.instantiate()
        for _ in range(10):
            run(stream)
            shared(stream)
            if index % 4 == 0:
                shared.update(node, total, 8)
        return (own.get(stream=stream) == 30).all()

    assert all(at_once(one))
    assert (total.get() == 10 * THREADS).all()


@pytest.mark.parametrize("form", ["ptx", "described"])
def test_kernels_of_a_new_module(form):
    content = images.FORMS[form]()
    names = ["increment", "axpy", "store<int>", "congruential", "is_null", "inside"]
    for _ in range(5):
        module = cupola.load(content)

        def one(index, module=module):
            found = {}
            for turn in range(len(names)):
                name = names[(turn + index) % len(names)]
                found[name] = module[name]
                found[name].params  # noqa: B018 - makes the list
                if index % 4 == 0 and name == "increment":
                    found[name].declare("int* values, int n")
            values = cupola.zeros(4, np.int32)
            with cupola.Stream() as stream:
                stream.wait(cupola.Stream.current())
                found["increment"][1, 4](values, 4)
                right = (values.get() == 1).all()
            return right, [id(found[name]) for name in names], found["axpy"].module is module

        right, ids, modules = zip(*at_once(one), strict=True)
        assert all(right) and all(one == ids[0] for one in ids) and all(modules)


def test_an_operation_learns_more_shapes_than_it_keeps():
    step = made(operations.PLANE)

    def one(index):
        with cupola.Stream():
            for turn in range(24):
                plane = np.full((1 + index, 1 + turn), index + turn, np.float32)
                there = cupola.to_device(plane)
                for _ in range(3):
                    found = step(there, 3.0)
                    if found.shape != plane.shape or (found.get() != 3 * plane).any():
                        return False
        return True

    assert all(at_once(one))


def test_a_family_that_is_reloaded():
    family = families.family()
    families.ran(family, 8)

    def one(index):
        with cupola.Stream():
            for turn in range(10):
                if index == 3:
                    family.reload()
                size = 1 + (7 * index + turn) % 50
                dtype = np.float32 if turn % 2 else np.float64
                x, which = cupola.zeros(size, dtype), cupola.zeros(1, np.int32)
                if index % 2:
                    family(x, size, which)
                else:
                    family(which=which, n=size, x=x)
                if (x.get() != 1).any() or which.get() != 64:
                    return False
        return True

    assert all(at_once(one))


def test_pipelines():
    source = images.compiled("pipeline.ptx", pipeline_kernels.SOURCE, "-ptx", "-arch=compute_75")
    add = cupola.load(source)["add"]

    def one(index):
        x = np.random.default_rng(index).integers(-1000, 1000, 3000).astype(np.int32)
        out = np.zeros_like(x)
        for chunk in (700, 1000):
            out[:] = 0
            cupola.pipeline(add, x, out, chunk=chunk, streams=2)
            if not np.array_equal(out, x + 1):
                return False
        return True

    assert all(at_once(one, 8))


def test_a_capsule_is_taken_once():
    for _ in range(10):
        array = cupola.to_device(np.arange(8, dtype=np.float32))
        capsule = array.__dlpack__()

        class Lent:
            def __dlpack__(self, capsule=capsule, **_):
                return capsule

            def __dlpack_device__(self, array=array):
                return array.__dlpack_device__()

        def one(_, lent=Lent):
            try:
                return (cupola.from_dlpack(lent()).get() == np.arange(8)).all()
            except cupola.ExchangeError as error:
                return str(error)

        *refused, won = sorted(at_once(one), key=lambda outcome: not isinstance(outcome, str))
        assert won and all("it can be taken once" in text for text in refused)


def test_objects_end_in_other_threads():
    """Arrays, streams and graphs are made by one thread, and released by another thread."""
    places = [[None] for _ in range(THREADS)]
    kernel = images.module()["increment"]

    def one(index):
        for turn in range(30):
            stream = cupola.Stream(non_blocking=True)
            array = cupola.zeros(64, np.int32, stream=stream)
            launch = kernel.prepare(1, 64, array, 64, stream=stream)
            launch()
            event = stream.record()
            before, places[(index + turn) % THREADS][0] = (
                places[(index + turn) % THREADS][0],
                (stream, array, launch, event),
            )
            if before is not None:
                there, values, _, done = before
                done.synchronize()
                if (values.get(stream=there) != 1).any():
                    return False
        return True

    assert all(at_once(one))
