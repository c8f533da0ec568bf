"""`cupola.op`: operations of kernels in hand, called with NumPy's arrays and with cupola's."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import operations
import pytest
from working import refused

import cupola
from cupola.declare.declaration_error import DeclarationError
from cupola.declare.operation import read


def made(table, name="", **changes):
    """The operation of a table whose kernels are those of operations.cu."""
    table = {**table, **changes}
    kernels = table.pop("kernels")
    module = operations.module()
    if isinstance(kernels, str):
        return cupola.op(module[kernels], name, **table)
    return cupola.op({types: module[kernel] for types, kernel in kernels.items()}, name, **table)


@pytest.fixture(params=["numpy", "cupola"])
def kind(driver, request):
    return request.param


@pytest.fixture
def give(kind):
    """Makes an array of that kind of a NumPy array."""
    return np.copy if kind == "numpy" else cupola.to_device


@pytest.fixture
def options(driver, kind):
    """How a call says that NumPy's arrays go through a GPU."""
    return {"device": 0} if kind == "numpy" and driver == "cuda" else {}


def host(array):
    return array if isinstance(array, np.ndarray) else array.get()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_are_of_the_callers_kind(give, options, dtype):
    step = made(operations.PLANE, "heat.step")
    u = give(np.arange(35, dtype=dtype).reshape(5, 7))
    for call in (
        lambda: step(u, 3, **options),
        lambda: step(u, alpha=np.float32(3), **options),
        lambda: step(alpha=3.0, u=u, **options),
    ):
        v = call()
        assert type(v) is type(u) and v.dtype == dtype
        assert (host(v) == 3 * host(u)).all()
    assert (host(step(u, **options)) == 2 * host(u)).all()  # the default


def test_out(give, options):
    step = made(operations.PLANE)
    u, v = give(np.ones((5, 7), np.float32)), give(np.zeros((5, 7), np.float32))
    assert step(u, 4, out=v, **options) is v or options
    assert (host(v) == 4).all()
    both = made(operations.BOTH)
    a = give(np.arange(4, dtype=np.float32))
    out = tuple(give(np.zeros(4, np.float32)) for _ in range(2))
    both(a, give(np.ones(4, np.float32)), out=out, **options)
    assert host(out[0]).tolist() == [1, 2, 3, 4] and host(out[1]).tolist() == [-1, 0, 1, 2]


def test_several_outputs(give, options):
    a = give(np.arange(4, dtype=np.float32))
    results = made(operations.BOTH)(a, give(np.ones(4, np.float32)), **options)
    assert isinstance(results, tuple)
    assert [host(one).tolist() for one in results] == [[1, 2, 3, 4], [-1, 0, 1, 2]]


def test_a_mutated_input_and_a_workspace(give, options):
    accumulate = made(operations.ACCUMULATE)
    cache, x = give(np.zeros(100, np.float32)), give(np.arange(100, dtype=np.float32))
    for _ in range(2):
        total = accumulate(cache, x, **options)
    assert host(total).tolist() == [4950] and (host(cache) == 2 * host(x)).all()
    assert "cache : float32[n], changed in place" in accumulate.__doc__


def test_an_operation_that_only_changes_its_input(give, options):
    table = dict(operations.NUMBER, inputs={"x": "float32[n]", "y": "float32[n]"}, outputs={})
    number = made({**table, "mutates": ["y"]})
    y = give(np.zeros(5, np.float32))
    assert number(give(np.ones(5, np.float32)), y, **options) is None
    assert host(y).tolist() == [1] * 5


@pytest.mark.parametrize("shape", [(6,), (2, 4, 6), (0, 6), (2, 0, 6)])
def test_any_number_of_leading_axes(give, options, shape):
    weigh = made(operations.WEIGH)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    w, bias = np.arange(6, dtype=np.float32), np.arange(6, dtype=np.float32)
    assert (host(weigh(give(x), give(w), give(bias), **options)) == x * w + bias).all()
    assert (host(weigh(give(x), give(w[1:2]), **options)) == x).all()
    assert host(weigh(give(x), give(w), bias=None, **options)).shape == shape


@pytest.mark.parametrize(
    "dtype",
    ["float16", "float32", "int32", "uint8", "bfloat16", "float8_e4m3fn", "float8_e5m2"],
)
def test_element_types(give, options, dtype):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.arange(600).astype(np.uint8).view(dtype)[:300] if dtype.itemsize == 1 else None
    x = np.arange(300).astype(dtype) if x is None else x
    y = made(operations.COPY)(give(x), **options)
    assert y.dtype == dtype and (host(y).view(np.uint8) == x.view(np.uint8)).all()


def test_what_is_not_contiguous_is_copied_or_refused(kind, give, options):
    u = give(np.arange(35, dtype=np.float32).reshape(5, 7))
    step = made(operations.PLANE)
    assert (host(step(u.T, 1, **options)) == host(u).T).all()
    assert (host(step(u[:, 1:3], 1, **options)) == host(u)[:, 1:3]).all()
    if options:
        return  # an array copied to a device is contiguous
    with refused(cupola.ArgumentValueError, saying=["output v", "C order"]):
        step(u, out=give(np.zeros((7, 5), np.float32)).T)
    step = made(operations.PLANE, noncontiguous="refuse")
    with refused(cupola.ArgumentValueError, saying=["argument u", "not in C order", "refuse"]):
        step(u.T)
    weigh = made(
        operations.WEIGH,
        inputs={"x": "float32[rows, n]", "w": "float32[n]", "bias": "float32[n]?"},
        outputs={"y": "float32[rows, n]"},
        strided=["x"],
        arguments=["x", "w", "bias", "y", "rows", "n", "stride(x, 0)", "stride(x, 1)", "1"],
    )
    w = give(np.ones(5, np.float32))
    assert (host(weigh(u.T, w)) == host(u).T).all()
    assert (host(weigh(u[::2, ::-1][:, :5], w)) == host(u)[::2, ::-1][:, :5]).all()


def test_alignment(kind, give, options):
    copy = made(operations.COPY, align=16)
    x = give(np.arange(9, dtype=np.float32))
    assert (host(copy(x[1:], **options)) == host(x)[1:]).all()
    copy = made(operations.COPY, align=1024)
    y = copy(x, **options)
    assert (host(y) == host(x)).all()
    if kind == "numpy" and not options:
        assert y.ctypes.data % 1024 == 0
        with refused(cupola.ArgumentValueError, saying="multiple of 1024 bytes"):
            copy(x[1:], out=y[1:])
    if not options:
        refuse = made(operations.COPY, align=16, noncontiguous="refuse")
        with refused(cupola.ArgumentValueError, saying="not a multiple of 16 bytes"):
            refuse(x[1:])


def bad_calls(step, u):
    other = np.zeros_like if isinstance(u, np.ndarray) else cupola.zeros_like
    readonly = np.broadcast_to(np.float32(0), (5, 7))
    yield (), {}, cupola.ArgumentTypeError, "argument u is missing; it is heat.step(u, alpha=2.0"
    yield (u, 1, 2), {}, cupola.ArgumentTypeError, "takes 2 arguments, got 3"
    yield (u,), {"beta": 1}, cupola.ArgumentTypeError, "has no argument 'beta'"
    yield (u,), {"u": u}, cupola.ArgumentTypeError, "argument u is given twice"
    yield (u, "2"), {}, cupola.ArgumentTypeError, "argument alpha: expected a number, got '2'"
    yield (u, 1e300), {}, cupola.ArgumentValueError, "out of its range"
    yield ([[1.0]],), {}, cupola.ArgumentTypeError, "argument u: expected an array, got list"
    yield (u[0],), {}, cupola.ArgumentValueError, "argument u: expected T[ny, nx], which has 2 axes"
    yield (u.astype(np.int32),), {}, cupola.ArgumentTypeError, "no kernel for T = int32"
    yield (u.astype(np.complex64),), {}, cupola.ArgumentTypeError, "kernels for float32; float64"
    yield (u,), {"out": other(u[1:])}, cupola.ArgumentValueError, "by argument u"
    yield (u,), {"out": other(u.astype(np.float64))}, cupola.ArgumentTypeError, "float64"
    yield (u,), {"out": u}, cupola.ArgumentValueError, "overlaps that of argument u"
    yield (u,), {"out": (u, u)}, cupola.ArgumentTypeError, "out has 2 arrays"
    yield (u,), {"out": [1]}, cupola.ArgumentTypeError, "output v: expected a"
    if isinstance(u, np.ndarray):
        yield (u,), {"out": readonly}, cupola.ArgumentValueError, "the array is read-only"
        yield (u,), {"out": u.astype(">f4")}, cupola.ArgumentTypeError, "machine's byte order"
        yield (u.astype(object),), {}, cupola.ArgumentTypeError, "elements of object"
        yield (u,), {"stream": 1}, cupola.ArgumentTypeError, "no stream="
    else:
        yield (u,), {"stream": 1}, cupola.ArgumentTypeError, "a stream is a cupola.Stream"


@pytest.mark.parametrize("value", [np.float64(3), np.float32(3), 3.0, [1.0], "x", np.dtype("f4")])
def test_a_first_argument_that_is_no_array_is_named(driver, value):
    step = made(operations.PLANE, "heat.step")
    saying = ["argument u: expected an array", type(value).__name__, "numpy.asarray"]
    with refused(cupola.ArgumentTypeError, saying=saying) as error:
        step(value)
    assert "first argument" not in str(error.value)


def test_bad_calls(kind, give, options):
    if options:
        with refused(cupola.ArgumentValueError, saying="pass device=0"):
            made(operations.PLANE)(np.ones((2, 2), np.float32))
        return
    step = made(operations.PLANE, "heat.step")
    u = give(np.ones((5, 7), np.float32))
    for args, kwargs, error, words in bad_calls(step, u):
        with refused(error, saying=words):
            step(*args, **kwargs)
    with refused(cupola.ArgumentTypeError, saying=["argument b: expected a", "like the first"]):
        array = np.ones(4, np.float32)
        made(operations.BOTH)(
            *sorted([array, cupola.to_device(array)], key=lambda a: type(a) is not type(u))
        )
    with refused(cupola.ArgumentValueError, saying="n is 4, by argument a"):
        made(operations.BOTH)(give(np.ones(4, np.float32)), give(np.ones(5, np.float32)))


def test_streams(driver):
    step = made(operations.PLANE)
    u = cupola.to_device(np.ones((5, 7), np.float32))
    stream = cupola.Stream()
    v = step(u, 5, stream=stream)
    stream.synchronize()
    assert (v.get() == 5).all()
    with cupola.Stream():
        assert (step(u, 6).get() == 6).all()


def test_in_a_graph(driver):
    step = made(operations.PLANE)
    u, v = (cupola.to_device(np.full((5, 7), n, np.float32)) for n in (1, 0))
    step(u, out=v)
    stream = cupola.Stream()
    with stream.capture() as graph:
        step(u, 7, out=v, stream=stream)
    ready = graph.instantiate()
    u[...] = 2
    ready.launch(stream)
    stream.synchronize()
    assert (v.get() == 14).all()


MANY_INPUTS = dict(
    inputs={f"u{n}": "T[ny, nx]" for n in range(64)},
    arguments=[*[f"u{n}" for n in range(64)], "v"],
)
WRONG = [
    (dict(grids=[1]), "unknown key 'grids': did you mean 'grid'?"),
    (dict(grid=None), "grid: expected one to three expressions"),
    (dict(grid=["nz"]), "grid: 'nz': unknown name \"nz\""),
    (dict(grid=[1, 1, 1, 1]), "grid: expected one to three"),
    (dict(inputs={"u": "T"}), "inputs.u: 'T': expected an element type and a shape"),
    (dict(inputs={"u": "float[n]"}), "inputs.u: 'float[n]': 'float' is neither an element type"),
    (dict(inputs={"u u": "T[n]"}), "inputs: 'u u' is not a name"),
    (dict(inputs={"u": "T[ny, nx]?"}), "inputs: expected an input that is always given"),
    (dict(outputs={"v": "S[ny, nx]"}), "outputs.v: no input that is always given has the type"),
    (dict(outputs={"v": "T[ny, nz]"}), "outputs.v: 'nz': unknown name"),
    (dict(outputs={"v": "T[broadcast(ny)]"}), "outputs.v: only an input can be broadcast"),
    (dict(outputs={"v": "T[*rows, nx]"}), "outputs.v: no input that is always given binds *rows"),
    (dict(inputs={"u": "T[*a, nx]", "w": "T[*b, nx]"}), "inputs.w: an operation has one pack"),
    (
        dict(inputs={"u": "T[*ny, nx]", "w": "T[broadcast(ny)]"}),
        "inputs.w: broadcast takes the name of a size, and *ny is a pack",
    ),
    (dict(outputs={"u": "T[ny, nx]"}), "outputs.u: inputs has this name already"),
    (dict(outputs={}), "outputs: there is no output, and mutates names no input"),
    (dict(mutates=["w"]), "mutates: there is no input 'w'"),
    (dict(scalars={"alpha": "real"}), "scalars.alpha: expected types by name"),
    (dict(scalars={"alpha": "int = x"}), "scalars.alpha: the default 'x' is not a int"),
    (dict(arguments=["u", "ny", "nx", "alpha"]), "arguments: the kernel does not take v"),
    (dict(arguments=["u", "v", "ny", "nx", "beta"]), "arguments: 'beta': unknown name"),
    (dict(arguments=["u", "v", "u + 1"]), "is a tensor, not a number"),
    (dict(arguments=["u", "v", "alpha * 2"]), "is not an integer"),
    (dict(checks=["nx"]), "checks: 'nx': expected a comparison"),
    (dict(sizes={"nx": "1"}), "nx"),
    (dict(align=3), "align: expected a power of two"),
    (dict(noncontiguous="yes"), "noncontiguous: expected 'copy' or 'refuse'"),
    (dict(vmap="all"), "vmap: expected"),
    (dict(grid=["batch()"]), "batch() needs vmap = 'batch'"),
    (dict(kernels={"float32": "a", "float": "b"}), "kernels.float: unknown element type 'float'"),
    (dict(kernels={"float32, int32": "a"}), "expected 1 element types"),
    (dict(kernels="a"), "kernels: expected kernels by element type"),
    (dict(shared="2 ** nx"), "shared: '2 ** nx': expected a value"),
    (dict(shared="stride(v, 5)"), "takes an axis of its shape"),
    (dict(backward=1), "backward: expected the name"),
    (dict(cooperative="yes"), "cooperative: expected true or false"),
    (MANY_INPUTS, "inputs: there are 65 tensors, expected at most 64"),
    (
        dict(scalars={"alpha": "float", **{f"k{n}": "float" for n in range(64)}}),
        "scalars: there are 65 scalars",
    ),
    (dict(sizes={f"k{n}": "1" for n in range(255)}), "sizes: there are 257 sizes"),
    (dict(arguments=["u", "v", *["1"] * 127]), "arguments: there are 129 arguments"),
    (dict(inputs={"u": "T[ny, nx" + ", 1" * 31 + "]"}), "inputs.u: it has 33 lengths"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=lambda value: str(value)[:30])
def test_a_wrong_declaration_names_the_key(change, words):
    with pytest.raises(DeclarationError) as raised:
        read({**operations.PLANE, **change}, "heat.step")
    assert words in str(raised.value)


def test_a_missing_key():
    for key in ("kernels", "inputs", "arguments", "grid", "block"):
        table = {**operations.PLANE}
        del table[key]
        with pytest.raises(DeclarationError, match=f"lacks the key '{key}'"):
            read(table, "heat.step")


def test_wrong_kernels(driver):
    kernel = operations.module()["scale_plane<float>"]
    table = {key: value for key, value in operations.PLANE.items() if key != "kernels"}
    for wrong in (1, {}, {"float32": 1}, None):
        with refused(cupola.ArgumentTypeError, saying="op takes a Kernel"):
            cupola.op(wrong, **table)
    with refused(cupola.ArgumentValueError, saying="op scale_plane: kernels: expected kernels by"):
        cupola.op(kernel, **table)
    with refused(cupola.ArgumentTypeError, saying="a tensor of float64, u"):
        cupola.op({"float64": kernel}, **table)
    with refused(cupola.ArgumentValueError, saying="op heat: grid: 'nz'"):
        cupola.op({"float32": kernel}, "heat", **{**table, "grid": ["nz"]})


def test_the_texts_of_an_operation(driver):
    step = made(operations.PLANE, "heat.step")
    assert repr(step) == "<operation heat.step(u, alpha=2.0, *, out=None)>"
    assert step.__name__ == "step" and "v : T[ny, nx]" in step.__doc__


def test_nothing_is_imported_but_cupola():
    """The declarations alone need the standard library."""
    code = (
        "import sys, cupola.ops, cupola.declare.operation\n"
        "assert not {'torch', 'jax', 'cupy', 'numpy'} & {*sys.modules} - {'numpy'}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


MANIFESTS = [
    ("[]", "has no operation"),
    ("{}", "its operations are no list"),
    ("[1]", "its operations are no list"),
    ('[{"name": "softs.copy"}]', "is invalid: operation softs.copy: lacks the key 'kernels'"),
    (
        '[{"name": "softs.copy", "kernels": "copy", "inputs": {"x": "float32[n]"}, "outputs": '
        '{"y": "float32[n]"}, "arguments": ["x", "y", "n"], "grid": ["n ** 2"], "block": [1]}]',
        "grid: 'n ** 2': expected a value",
    ),
]


@pytest.mark.parametrize(("operations", "words"), MANIFESTS)
def test_a_hostile_manifest_is_refused(tmp_path, monkeypatch, operations, words):
    """A manifest is untrusted: each declaration is checked again when it is read."""
    folder = tmp_path / "softs"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "kernels.py").write_text(
        "from cupola.core.kernel_library import KernelLibrary\n"
        "_library = KernelLibrary(__name__, {'copy': 'copy'})\n"
    )
    (folder / "ops.py").write_text(
        "from cupola.ops.library import OperationLibrary\n"
        "_library = OperationLibrary(__name__, 'softs.kernels', ('copy',))\n"
        "__getattr__ = _library.attribute\n__dir__ = _library.attributes\n"
    )
    (folder / "kernels.fatbin").write_bytes(b"")
    (folder / "kernels.json").write_text(
        f'{{"format": 1,\n"operations": {operations},\n"kernels": []}}'
    )
    code = (
        "import cupola\nfrom softs import ops\n"
        "try:\n    ops.copy\nexcept cupola.ImageError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert words in done.stdout, done.stdout + done.stderr


def test_many_shapes_keep_few_plans(driver):
    step = made(operations.PLANE)
    for n in range(1, 300):
        step(cupola.zeros((1, n), np.float32))
    assert len(step._plans) <= 256


def test_the_backward_of_an_operation_in_hand():
    back = made(
        operations.PLANE,
        "back",
        inputs={"grad_v": "T[ny, nx]"},
        outputs={"grad_u": "T[ny, nx]"},
        arguments=["grad_v", "grad_u", "ny", "nx", "alpha"],
    )
    assert made(operations.PLANE, backward=back).backward is back
    with refused(cupola.ArgumentTypeError, saying="backward: expected the operation"):
        made(operations.PLANE, "step", backward="heat.back")
    with refused(cupola.ArgumentValueError, saying="op step: outputs.v: the backward of step"):
        made(operations.PLANE, "step", backward=made(operations.PLANE))
