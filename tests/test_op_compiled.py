"""Compiled declarations: which forms the library refuses."""

import dataclasses
import runpy
import struct
from pathlib import Path

import operations
import pytest
from working import refused

import cupola
from cupola.declare.compiled import VERSION, compiled
from cupola.declare.expression import Expression, parse
from cupola.declare.operation import read
from cupola.declare.record import Field, Record
from cupola.native_operation import NativeOperation

# A declaration with each part of the form.
WHOLE = dict(
    kernels={"float32, bfloat16": "a", "float16, float8_e4m3fn": "b"},
    inputs={
        "x": "T[*rows, n]",
        "w": "S[broadcast(n)]",
        "bias": "S[n]?",
        "cache": "float32[4, n]",
    },
    outputs={"y": "T[*rows, n]"},
    workspace={"sums": "float32[blocks]"},
    scalars={"k": "int", "eps": "float", "flag": "bool"},
    sizes={"half": "n / 2", "blocks": "ceildiv(rows * half, 256)"},
    checks=["n % 4 == 0", "max(n, k) <= 8192"],
    arguments=[
        *("x", "w", "bias", "cache", "y", "sums", "eps"),
        *("stride(x, 0) + sizeof(T) * present(bias)", "sizeof(int64)", "batch()"),
        {"size": 24, "fields": [[0, 8, "x"], [12, 4, "n * 2"], [16, 1, "1"]]},
    ],
    grid=["rows"],
    block=["min(n, 256)"],
    cluster=[2],
    shared="4 * n",
    cooperative=True,
    priority=0,
    carveout=50,
    mutates=["cache"],
    strided=["x"],
    align=16,
    vmap="batch",
)


def declaration(**table):
    return read({**WHOLE, **table}, "test.whole")


def test_a_whole_declaration_is_accepted():
    operation = NativeOperation(compiled(declaration()))
    assert operation.name == "test.whole" and operation.kernel_names() == ["a", "b"]
    assert operation.kernel_types() == ["float32, bfloat16", "float16, float8_e4m3fn"]
    symbols = {("float32", "bfloat16"): "_Z1af", ("float16", "float8_e4m3fn"): "_Z1bf"}
    named = NativeOperation(compiled(declaration(), symbols))
    assert named.kernel_names() == ["_Z1af", "_Z1bf"]


def test_each_prefix_is_refused():
    whole = compiled(declaration())
    for size in range(len(whole)):
        with pytest.raises(cupola.ArgumentValueError, match="is invalid: it "):
            NativeOperation(whole[:size])
    with refused(cupola.ArgumentValueError, saying="1 bytes follow its end"):
        NativeOperation(whole + b"\0")


@pytest.mark.parametrize("number", [-1, 1, 2**31, 2**63 - 1, -(2**63)])
def test_any_number_may_be_wrong(number):
    """Accepted or refused with an error that names the operation; no crash."""
    whole = compiled(declaration())
    accepted = 0
    for at in range(len(VERSION), len(whole) - 7):
        changed = whole[:at] + struct.pack("<q", number) + whole[at + 8 :]
        try:
            NativeOperation(changed)
            accepted += 1
        except cupola.ArgumentValueError as error:
            assert "is invalid: " in str(error)
    assert accepted < len(whole) / 4


def test_another_version():
    for text in (b"", b"operation 1 x\n", b"cupola operation 3\n" + compiled(declaration())[19:]):
        with refused(cupola.ArgumentValueError, saying=["does not begin", "build its package"]):
            NativeOperation(text)


def changed_tensor(whole, index, **changes):
    tensors = list(whole.tensors)
    tensors[index] = dataclasses.replace(tensors[index], **changes)
    return dataclasses.replace(whole, tensors=tuple(tensors))


def typed(whole, index, **changes):
    return changed_tensor(
        whole, index, type=dataclasses.replace(whole.tensors[index].type, **changes)
    )


def launching(whole, **launch):
    return dataclasses.replace(whole, launch={**whole.launch, **launch})


def steps(*given):
    return (Expression("written by hand", given),)


def a_record(one, *fields, size=8):
    fields = tuple(Field(*field) for field in fields)
    return dataclasses.replace(one, arguments=(Record(size, fields),), values={"n": parse("n")})


FORGED = [
    (lambda one: a_record(one, (0, 3, "n")), "the bytes of a field are no power of two"),
    (lambda one: a_record(one, (4, 8, "n")), "the offset of a field is 4, expected 0 to 0"),
    (lambda one: a_record(one, (0, 8, "n"), size=4), "a field is larger than its struct"),
    (lambda one: a_record(one, (0, 4, "x")), "the address of a tensor has 8 bytes"),
    (lambda one: a_record(one, size=1 << 20), "the bytes of a struct is 1048576, expected 1 to"),
    (lambda one: dataclasses.replace(one, name=""), "the operation has no name"),
    (lambda one: dataclasses.replace(one, tensors=one.tensors[::-1]), "inputs come first"),
    (lambda one: dataclasses.replace(one, kernels={}), "it has no kernel"),
    (lambda one: dataclasses.replace(one, align=24), "align is not a power of two"),
    (lambda one: dataclasses.replace(one, align=8192), "align is 8192, expected 1 to 4096"),
    (lambda one: dataclasses.replace(one, checks=(parse("n"),)), "expected a comparison"),
    (lambda one: dataclasses.replace(one, checks=steps(1, 1, ("<",), 1, ("==",))), "is a check"),
    (lambda one: typed(one, 0, optional=True), "no input that is always given has the type T"),
    (lambda one: typed(one, 4, optional=True), "only an input is optional"),
    (lambda one: changed_tensor(one, 4, strided=True), "only an input is optional, mutated or"),
    (lambda one: dataclasses.replace(one, name="a\0b"), "the name has a zero byte"),
    (lambda one: launching(one, grid=(parse("n"),) * 4), "grid is 4, expected 3 to 3"),
    (lambda one: launching(one, cluster=(parse("n"),) * 4), "cluster is 4, expected 0 to 3"),
    (lambda one: launching(one, shared=(parse("1"),) * 2), "shared is 2, expected 0 to 1"),
    (lambda one: launching(one, shared=steps()), "its steps do not leave one value"),
    (lambda one: launching(one, shared=steps(1, ("+",))), "a step lacks a value"),
    (lambda one: launching(one, shared=steps(1, 2)), "its steps do not leave one value"),
    (lambda one: launching(one, shared=steps(-1)), "a constant is -1"),
    (lambda one: launching(one, shared=steps(*[1] * 33)), "nested too deeply"),
    (lambda one: launching(one, shared=steps(1, 2, ("<",))), "a comparison is a check"),
    (
        lambda one: dataclasses.replace(
            one, sizes={"half": parse("blocks"), "blocks": parse("half")}
        ),
        "the size blocks has no value in blocks",
    ),
]


@pytest.mark.parametrize(("forge", "words"), FORGED, ids=[words for _, words in FORGED])
def test_a_forged_declaration(forge, words):
    with refused(cupola.ArgumentValueError, saying=words):
        NativeOperation(compiled(forge(declaration())))


def test_a_size_that_no_input_always_has():
    whole = declaration(inputs={**WHOLE["inputs"], "bias": "S[m]?"})
    with refused(cupola.ArgumentValueError, saying="the size m has no value in m + 1"):
        NativeOperation(compiled(launching(whole, shared=(parse("m + 1"),))))


def test_the_name_of_a_pack_as_a_length(driver):
    """It is the product of the leading lengths, and binds nothing, also where it comes first."""
    table = dict(operations.WEIGH, kernels="weigh")
    table["inputs"] = {"bias": "float32[rows]?", **{
        name: text for name, text in table["inputs"].items() if name != "bias"
    }}  # fmt: skip
    operation = operations.native(table)
    arrays = [cupola.zeros(shape, "f4") for shape in ((8,), (2, 4, 6), (6,), (2, 4, 6))]
    operation.launch(tuple(map(operations.tensor, arrays)), ())
    arrays[0] = cupola.zeros(7, "f4")
    with refused(cupola.ArgumentValueError, saying="length 7 of axis 0, but rows is 8"):
        operation.launch(tuple(map(operations.tensor, arrays)), ())


def test_the_seeds_of_the_fuzzer_are_of_this_format():
    folder = Path(__file__).parent / "fuzz"
    seeds = runpy.run_path(str(folder / "operation_seeds.py"))
    for name, seed in seeds["seeds"]():
        assert (folder / "seeds" / "operation_fuzz" / name).read_bytes() == seed, name
