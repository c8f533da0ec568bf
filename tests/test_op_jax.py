"""Operations on JAX's arrays: jit, grad, vmap, shard_map. Here they are the CPU device's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import hooks
import numpy as np
import operations
import pytest
from test_op import made
from working import refused

import cupola

jax = pytest.importorskip("jax")
jnp = jax.numpy
jax_arrays = pytest.importorskip("cupola.ops.jax_arrays")

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def platform(driver):
    """JAX's arrays lie where the driver's kernels run."""
    wanted = "cpu" if driver == "cpu" else "gpu"
    if wanted not in {one.platform for one in jax.devices()}:
        pytest.skip(f"JAX has no device of the platform {wanted}")


class Library:
    """The operations of a package, for `backward`."""

    def __init__(self):
        self.operations = {}

    def attribute(self, name):
        return self.operations[name]


@pytest.fixture
def square(driver):
    """y = x * w along the last axis, whose gradient for x is the same kernel."""
    library = Library()
    module = operations.module()

    def add(name, kernel, **table):
        from cupola.declare.operation import read
        from cupola.ops.operation import Operation

        made = Operation(
            read({**table, "kernels": kernel}, f"test.{name}"), lambda k, d: module[k], library
        )
        library.operations[name] = made
        return made

    launch = dict(grid=["ceildiv(rows * n, 128)"], block=[128])
    arguments = ["x", "w", "bias", "y", "rows", "n", "n", "1", "1"]
    add(
        "back",
        "weigh",
        inputs={"grad_y": "float32[*rows, n]", "w": "float32[n]", "bias": "float32[n]?"},
        outputs={"grad_x": "float32[*rows, n]"},
        arguments=["grad_y", "w", "bias", "grad_x", *arguments[4:]],
        **launch,
    )
    return add(
        "weigh",
        "weigh",
        inputs={"x": "float32[*rows, n]", "w": "float32[n]", "bias": "float32[n]?"},
        outputs={"y": "float32[*rows, n]"},
        arguments=arguments,
        backward="test.back",
        **launch,
    )


def test_eager_and_jit():
    step = made(operations.PLANE)
    u = jnp.arange(35, dtype=jnp.float32).reshape(5, 7)
    v = step(u, 3)
    assert isinstance(v, jax.Array) and (v == 3 * u).all()
    assert (jax.jit(lambda u: step(u, 4) + 1)(u) == 4 * u + 1).all()
    assert (step(u.T, 2) == 2 * u.T).all()
    twice = jax.jit(lambda u: step(step(u, 2.5), alpha=2))
    assert (twice(u) == 5 * u).all()


def test_several_outputs_optional_inputs_and_workspaces():
    a = jnp.arange(4, dtype=jnp.float32)
    both = jax.jit(made(operations.BOTH))(a, jnp.ones(4, jnp.float32))
    assert [one.tolist() for one in both] == [[1, 2, 3, 4], [-1, 0, 1, 2]]
    weigh = made(operations.WEIGH)
    x = jnp.arange(12, dtype=jnp.float32).reshape(2, 1, 6)
    w, bias = jnp.arange(6, dtype=jnp.float32), jnp.ones(6, jnp.float32)
    assert (weigh(x, w, bias) == x * w + bias).all()
    assert (jax.jit(weigh)(x, w[1:2]) == x).all()
    assert weigh(x[:0], w).shape == (0, 1, 6)


def test_a_mutated_input_is_returned():
    accumulate = made(operations.ACCUMULATE)
    cache, x = jnp.zeros(100, jnp.float32), jnp.arange(100, dtype=jnp.float32)
    total, after = accumulate(cache, x)
    assert total.tolist() == [4950] and (after == x).all() and not cache.any()
    total, after = jax.jit(lambda c, x: accumulate(accumulate(c, x)[1], x))(cache, x)
    assert (after == 2 * x).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn", "int32", "uint8"])
def test_element_types(dtype):
    x = jnp.arange(300).astype(dtype)
    y = made(operations.COPY)(x)
    assert y.dtype == x.dtype and (np.asarray(y) == np.asarray(x)).all()


def test_gradients(square):
    x = jnp.arange(12, dtype=jnp.float32).reshape(2, 6)
    w = jnp.arange(6, dtype=jnp.float32)

    def loss(x):
        return (square(x, w) ** 2).sum()

    def plain(x):
        return ((x * w) ** 2).sum()

    np.testing.assert_allclose(jax.grad(loss)(x), jax.grad(plain)(x))
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(x), jax.grad(plain)(x))
    # Batches of gradients, and gradients of batches.
    many = jnp.stack([x, 2 * x, 3 * x])
    np.testing.assert_allclose(jax.vmap(jax.grad(loss))(many), jax.vmap(jax.grad(plain))(many))
    total = jax.grad(lambda many: jax.vmap(loss)(many).sum())(many)
    np.testing.assert_allclose(total, jax.vmap(jax.grad(plain))(many))


def test_without_a_gradient():
    step = made(operations.PLANE, "heat.step")
    u = jnp.ones((2, 2), jnp.float32)
    with refused(cupola.ArgumentTypeError, saying="heat.step has no gradient: its declaration"):
        jax.grad(lambda u: step(u).sum())(u)


def test_gradients_of_gradients():
    module = operations.module()
    launch = dict(grid=["ceildiv(rows * n, 128)"], block=[128])

    def weighs(x, y, **more):
        return cupola.op(
            module["weigh"],
            more.pop("name", "weighs"),
            inputs={x: "float32[*rows, n]", "w": "float32[n]", "bias": "float32[n]?"},
            outputs={y: "float32[*rows, n]"},
            arguments=[x, "w", "bias", y, "rows", "n", "n", "1", "1"],
            **launch,
            **more,
        )

    last = weighs("grad_grad_x", "grad_grad_y", name="last")
    back = weighs("grad_y", "grad_x", backward=last)
    forward = weighs("x", "y", backward=back)
    x, w = jnp.arange(1.0, 7), jnp.arange(6, dtype=jnp.float32)

    def norm(function):
        return lambda x: (jax.grad(lambda x: (function(x) ** 3).sum())(x) ** 2).sum()

    expected = jax.grad(norm(lambda x: x * w))(x)
    np.testing.assert_allclose(jax.grad(norm(lambda x: forward(x, w)))(x), expected)
    np.testing.assert_allclose(jax.jit(jax.grad(norm(lambda x: forward(x, w))))(x), expected)
    third = jax.grad(lambda x: norm(lambda x: forward(x, w))(x) ** 2)
    with refused(cupola.ArgumentTypeError, saying="last has no gradient: its declaration"):
        jax.grad(lambda x: third(x).sum())(x)


def test_a_number_is_used_with_its_bits():
    step = made(operations.PLANE)
    u = jnp.ones((2, 3), jnp.float32)
    for values in [(0.0, -0.0), (-0.0, 0.0)]:
        eager = [step(u, value) for value in values]
        traced = jax.jit(lambda u, values=values: [step(u, value) for value in values])(u)
        for value, one, other in zip(values, eager, traced, strict=True):
            assert (jnp.signbit(one) == np.signbit(value)).all()
            assert (jnp.signbit(other) == np.signbit(value)).all()
    assert jnp.isnan(step(u, float("nan"))).all()


def compiled(operation):
    """How many programs of an operation are kept."""
    functions = jax_arrays.of(operation)._functions.values()
    return sum(one._cache_size() for one in functions)


def test_new_numbers_compile_nothing():
    step = made(operations.PLANE)
    u = jnp.ones((2, 3), jnp.float32)
    for value in [*np.linspace(0, 1, 50), float("nan"), -0.0, 0.0, 3]:
        assert np.array_equal(step(u, value)[0, 0], np.float32(value), equal_nan=True)
    assert compiled(step) == 1
    for value in (1.0, 2.0):  # under a transformation without jit
        assert (jax.vmap(lambda u, value=value: step(u[None], value))(u) == value).all()


def test_programs_of_numbers_that_set_sizes_are_bounded():
    accumulate = made(operations.ACCUMULATE)
    x = jnp.ones(100, jnp.float32)
    for most in range(1, 100):  # the number of threads, which sets the length of a workspace
        assert accumulate(x, x, most)[0].tolist() == [100]
    assert compiled(accumulate) == jax_arrays._MOST_FUNCTIONS
    assert accumulate(x, x, jnp.int32(3))[0].tolist() == [100]
    with refused(cupola.ArgumentTypeError, saying="argument most: shapes depend on it"):
        jax.jit(accumulate)(x, x, 3)
    with refused(cupola.ArgumentValueError, saying="outside of the range of int64"):
        accumulate(x, x, 2**63)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int32", "uint8", "int8"])
def test_a_traced_number(dtype):
    step = made(operations.PLANE)
    u = jnp.ones((2, 3), jnp.float32)
    alpha = jnp.asarray(3, dtype)
    assert (jax.jit(step)(u, alpha) == 3).all() and (step(u, alpha) == 3).all()
    assert (jax.vmap(step, in_axes=(None, 0))(u, jnp.stack([alpha, alpha + 1]))[1] == 4).all()


def test_a_number_has_no_gradient():
    u = jnp.ones((2, 3), jnp.float32)
    for step in (made(operations.PLANE), made(operations.PLANE, backward=made(SCALED_BACK))):
        with refused(cupola.ArgumentTypeError, saying="no gradient"):
            jax.grad(lambda alpha, step=step: step(u, alpha).sum())(2.0)
    assert (jax.grad(lambda u: step(u, 2.0).sum())(u) == 2).all()
    assert (jax.jit(jax.grad(lambda u, alpha: step(u, alpha).sum()))(u, 2.0) == 2).all()


SCALED_BACK = dict(
    operations.PLANE,
    inputs={"grad_v": "T[ny, nx]"},
    outputs={"grad_u": "T[ny, nx]"},
    arguments=["grad_v", "grad_u", "ny", "nx", "alpha"],
)


def test_a_host_array_that_the_kernel_writes():
    accumulate = made(operations.ACCUMULATE)
    x = cupola.to_device(np.ones(100, np.float32))
    cache = jnp.zeros(100, jnp.float32)
    both = made(operations.BOTH)
    if next(iter(cache.devices())).platform != "cpu":
        pytest.skip("JAX's arrays are on the GPU")
    mutated = made({**operations.ACCUMULATE, "inputs": dict(x="float32[n]", cache="float32[n]")})
    with refused(cupola.ArgumentTypeError, saying="argument cache: the kernel writes it"):
        mutated(x, cache)
    assert not cache.any()
    with refused(cupola.ArgumentTypeError, saying="output sum: the kernel writes it"):
        both(x, x, out=(cache, x))
    with refused(cupola.ArgumentTypeError, saying="expected a cupola.Array"):
        both(x, np.ones(100, np.float32))
    assert accumulate(cupola.zeros(100, np.float32), x)[0] == 100


LOOP = {**operations.PLANE, "vmap": "batch-first"}


@pytest.mark.parametrize("table", [operations.PLANE, LOOP])
def test_vmap(table):
    step = made(table)
    u = jnp.arange(70, dtype=jnp.float32).reshape(2, 5, 7)
    assert (jax.vmap(lambda u: step(u, 3))(u) == 3 * u).all()
    assert (jax.jit(jax.vmap(lambda u: step(u, 3), in_axes=1, out_axes=1))(u) == 3 * u).all()
    deep = u.reshape(1, 2, 5, 7)
    assert (jax.vmap(jax.vmap(lambda u: step(u, 3)))(deep) == 3 * deep).all()


def test_vmap_with_leading_axes(square):
    weigh = made(operations.WEIGH)
    x = jnp.arange(24, dtype=jnp.float32).reshape(2, 2, 6)
    w = jnp.arange(12, dtype=jnp.float32).reshape(2, 6)
    assert (jax.vmap(lambda x: weigh(x, w[0]))(x) == x * w[0]).all()
    assert (jax.vmap(weigh)(x, w) == x * w[:, None]).all()  # one call after another
    assert (jax.vmap(lambda w: weigh(x, w))(w) == x * w[:, None, None]).all()


def test_vmap_in_one_launch():
    number = made(operations.NUMBER)
    x = jnp.zeros((4, 5), jnp.float32)
    assert (jax.vmap(number)(x) == jnp.arange(4)[:, None]).all()
    assert (number(x[0]) == 0).all()


def test_bad_calls():
    step = made(operations.PLANE, "heat.step")
    u = jnp.ones((5, 7), jnp.float32)
    with refused(cupola.ArgumentValueError, saying="argument u: expected T[ny, nx], which has 2"):
        jax.jit(step)(u[0])
    with refused(cupola.ArgumentTypeError, saying="no kernel for T = int32"):
        step(u.astype(jnp.int32))
    with refused(cupola.ArgumentTypeError, saying="argument alpha: expected one number"):
        step(u, jnp.ones(2, jnp.float32))
    with refused(cupola.ArgumentTypeError, saying="argument alpha: expected a number"):
        step(np.ones((5, 7), np.float32), jnp.ones(2))
    with refused(cupola.ArgumentTypeError, saying="no out="):
        step(u, out=u)
    with refused(cupola.ArgumentTypeError, saying="JAX chooses stream and device"):
        step(u, stream=cupola.Stream())
    both = made(operations.BOTH)
    with refused(cupola.ArgumentTypeError, saying="argument b: expected a jax.Array"):
        both(u[0], np.ones(7, np.float32))
    with refused(cupola.ArgumentValueError, saying="length 5 of axis 0, but n is 7, by argument a"):
        jax.jit(both)(u[0], u[:, 0])
    # Found when it runs: JAX raises its own error, with the text.
    checked = made({**operations.PLANE, "block": ["nx * 1000", 1]}, "heat.step")
    with pytest.raises(Exception, match=r"heat\.step: scale_plane<float>: block \(7000, 1, 1\)"):
        jax.block_until_ready(checked(u))


def run(code, given="", **variables):
    paths = hooks.search_path(ROOT / "tests")
    environment = {**os.environ, **variables, "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, input=given
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


EXPORTED = """
import sys
import jax, numpy as np, operations
from jax import export
from test_op import made
u = np.ones((5, 7), np.float32)
step = made(operations.PLANE)
check = export.DisabledSafetyCheck.custom_call("cupola_op")
if sys.stdin.read() == "write":
    program = export.export(jax.jit(lambda u: step(u, 3)), disabled_checks=[check])(u)
    open(PATH, "wb").write(program.serialize())
else:
    program = export.deserialize(open(PATH, "rb").read())
    try:
        jax.block_until_ready(program.call(u))
    except Exception:  # the error of JAX, which does not know cupola's handler yet
        print("refused")
    step(jax.numpy.asarray(u), 1)
    print((program.call(u) == 3).all())
"""


def test_an_exported_program_needs_a_call_of_its_operation(tmp_path):
    pytest.importorskip("flatbuffers")  # by which JAX serializes
    code = f"PATH = {str(tmp_path / 'program')!r}\n{EXPORTED}"
    run(code, given="write")
    assert run(code, given="read").split() == ["refused", "True"]


SHARDED = """
import jax, numpy as np, operations
from jax.sharding import Mesh, PartitionSpec as P
from test_op import made
shard_map = getattr(jax, "shard_map", None)
if shard_map is None:
    import functools
    from jax.experimental.shard_map import shard_map
    shard_map = functools.partial(shard_map, check_rep=False)  # as its error says
assert len(jax.devices()) == 4
mesh = Mesh(np.array(jax.devices()), ("i",))
step = made(operations.PLANE)
u = jax.numpy.arange(16 * 7, dtype="float32").reshape(16, 7)
f = shard_map(lambda u: step(u, 3), mesh=mesh, in_specs=P("i"), out_specs=P("i"))
assert (jax.jit(f)(u) == 3 * u).all()
print("done")
"""


@pytest.mark.cpu_only("a GPU's machine may have one")
def test_shard_map():
    assert "done" in run(SHARDED, XLA_FLAGS="--xla_force_host_platform_device_count=4")


def test_importing_operations_imports_no_jax():
    run("import sys, cupola.ops.operation, cupola.ops.library\nassert 'jax' not in sys.modules")


OFFSETS = {
    "XLA_FFI_CallFrame": "struct_size extension_start api ctx stage args rets attrs",
    "XLA_FFI_Args": "struct_size extension_start size types args",
    "XLA_FFI_Attrs": "struct_size extension_start size types names attrs",
    "XLA_FFI_Buffer": "struct_size extension_start dtype data rank dims",
    "XLA_FFI_Api": "struct_size extension_start api_version internal_api XLA_FFI_Error_Create "
    "XLA_FFI_Error_GetMessage XLA_FFI_Error_Destroy XLA_FFI_Handler_Register XLA_FFI_Stream_Get",
    "XLA_FFI_Error_Create_Args": "struct_size extension_start message errc",
    "XLA_FFI_Stream_Get_Args": "struct_size extension_start ctx stream",
    "XLA_FFI_Metadata": "struct_size api_version traits",
    "XLA_FFI_Metadata_Extension": "extension_base metadata",
    "XLA_FFI_Api_Version": "struct_size extension_start major_version minor_version",
    "XLA_FFI_Extension_Base": "struct_size type next",
    "XLA_FFI_Scalar": "dtype value",
    "XLA_FFI_ByteSpan": "ptr len",
}
OURS = {
    "XLA_FFI_CallFrame": "CallFrame struct_size extension api context stage arguments results "
    "attributes",
    "XLA_FFI_Args": "Arguments struct_size extension size types values",
    "XLA_FFI_Attrs": "Attributes struct_size extension size types names values",
    "XLA_FFI_Buffer": "Buffer struct_size extension type data rank dims",
    "XLA_FFI_Api": "Api struct_size extension version internal error_create error_message "
    "error_destroy handler_register stream_get",
    "XLA_FFI_Error_Create_Args": "ErrorCreate struct_size extension message code",
    "XLA_FFI_Stream_Get_Args": "StreamGet struct_size extension context stream",
    "XLA_FFI_Metadata": "Metadata struct_size version traits",
    "XLA_FFI_Metadata_Extension": "MetadataExtension base metadata",
    "XLA_FFI_Api_Version": "Version struct_size extension major minor",
    "XLA_FFI_Extension_Base": "Extension struct_size type next",
    "XLA_FFI_Scalar": "Scalar type value",
    "XLA_FFI_ByteSpan": "Bytes data size",
}
CONSTANTS = {
    "XLA_FFI_Extension_Metadata": "metadata_extension",
    "XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE": "command_buffer_compatible",
    "XLA_FFI_ArgType_BUFFER": "buffer_type",
    "XLA_FFI_AttrType_SCALAR": "scalar_attribute",
    "XLA_FFI_AttrType_STRING": "string_attribute",
    "XLA_FFI_DataType_PRED": "pred",
    "XLA_FFI_DataType_S32": "s32",
    "XLA_FFI_DataType_S64": "s64",
    "XLA_FFI_DataType_U32": "u32",
    "XLA_FFI_DataType_U64": "u64",
    "XLA_FFI_DataType_F32": "f32",
    "XLA_FFI_DataType_F64": "f64",
    "XLA_FFI_Error_Code_INVALID_ARGUMENT": "invalid_argument",
    "XLA_FFI_Error_Code_INTERNAL": "internal_error",
}


def test_our_declarations_are_those_of_jaxlib(tmp_path):
    header = Path(jax.ffi.include_dir(), "xla/ffi/api/c_api.h").read_text()
    lines = ['#include "xla/ffi/api/c_api.h"', '#include "runtime/operation/xla_abi.hpp"']
    for theirs, fields in OFFSETS.items():
        name, *ours = OURS[theirs].split()
        # Older headers make some names by macros, which leave no such field for offsetof.
        lines += [
            f"static_assert(offsetof({theirs}, {field}) == offsetof(cupola::xla::{name}, {own}));"
            for field, own in zip(fields.split(), ours, strict=True)
            if theirs in header and re.search(rf"\b{field}\b", header)
        ]
    assert len(lines) > 20
    for theirs, own in CONSTANTS.items():
        lines.append(f"static_assert({theirs} == cupola::xla::{own});")
    source = tmp_path / "same.cpp"
    source.write_text("\n".join(lines))
    command = ["g++", "-std=c++17", "-fsyntax-only", f"-I{jax.ffi.include_dir()}"]
    done = subprocess.run([*command, f"-I{ROOT / 'csrc'}", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_numbers_of_types_are_those_of_jaxlib():
    text = (ROOT / "csrc/runtime/operation/xla_ffi.cpp").read_text()
    header = Path(jax.ffi.include_dir(), "xla/ffi/api/c_api.h").read_text()
    known = dict(re.findall(r"XLA_FFI_DataType_(\w+) = (\d+)", header))
    spelled = {"PRED": "bool", "BF16": "bfloat16"}
    table = {name: number for number, name in re.findall(r'\{(\d+), "(\w+)"\}', text)}
    for theirs, number in known.items():
        letter, width = re.match(r"([A-Z]+)(.*)", theirs).groups()
        kind = {"S": "int", "U": "uint", "F": "float", "C": "complex"}.get(letter)
        name = spelled.get(theirs) or (kind and f"{kind}{width}")
        if kind == "float" and "E" in width:
            name = f"float{width[0]}_{width[1:].lower()}"
        if name in table:
            assert table.pop(name) == number, name
    assert not table
