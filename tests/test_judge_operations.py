"""The judge on operations of installed packages: declarations, gradients, hostile manifests."""

import json
import re
from dataclasses import replace

import hooks
import images
import pytest
from command_line import cli

import cupola
from cupola.__main__ import main
from cupola.image.cxx_names import demangle
from cupola.image.manifest_text import recorded, written
from cupola.judging import CODES, Limits

FAST = replace(Limits(), launch_seconds=1.0, seconds=20.0, output=100_000)
SOURCE = """
template <class T> __global__ void scale(const T* x, const T* w, T* y, int rows, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * n) y[i] = x[i] * x[i] * (w ? w[i % n] : T(1));
}
template <class T>
__global__ void scale_backward(const T* grad_y, const T* x, const T* w, T* grad_x, T* grad_w,
                               int rows, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * n) grad_x[i] = 2 * grad_y[i] * x[i] * (w ? w[i % n] : T(1));
    T sum = 0;
    for (int r = 0; i < n && r < rows; r++) sum += grad_y[r * n + i] * x[r * n + i] * x[r * n + i];
    if (i < n) grad_w[i] = sum;
}
template __global__ void scale(const float*, const float*, float*, int, int);
template __global__ void scale(const double*, const double*, double*, int, int);
template __global__ void scale_backward(const float*, const float*, const float*, float*, float*,
                                        int, int);
"""
SCALE = {
    "name": "judged.scale",
    "kernels": {"float32": "scale<float>", "float64": "scale<double>"},
    "inputs": {"x": "T[rows, n]", "w": "T[n]?"},
    "outputs": {"y": "T[rows, n]"},
    "checks": ["n <= 9", "rows <= 9"],
    "arguments": ["x", "w", "y", "rows", "n"],
    "grid": ["ceildiv(rows * n, 32)"],
    "block": [32],
    "backward": "judged.scale_backward",
}
BACKWARD = {
    "name": "judged.scale_backward",
    "kernels": {"float32": "scale_backward<float>"},
    "inputs": {"grad_y": "T[rows, n]", "x": "T[rows, n]", "w": "T[n]"},
    "outputs": {"grad_x": "T[rows, n]", "grad_w": "T[n]"},
    "arguments": ["grad_y", "x", "w", "grad_x", "grad_w", "rows", "n"],
    "grid": ["ceildiv(max(rows, 1) * n, 32)"],
    "block": [32],
}
REFERENCE = """
def reference(x, w=None):
    return x * x * (1 if w is None else w)
"""


@pytest.fixture(scope="module", autouse=True)
def compiler():
    images.nvrtc()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Writes a package with an image and a manifest, which fails where it is imported."""
    folder = tmp_path / "site/judged"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('the package was imported')")
    monkeypatch.syspath_prepend(folder.parent)

    def write(source=SOURCE, operations=(SCALE, BACKWARD), **changes):
        (folder / "kernels.json").unlink(missing_ok=True)
        (tmp_path / "scale.cu").write_text(source)
        assert main(["compile", str(tmp_path / "scale.cu"), "-o", str(folder / "kernels.ptx"),
                     "--arch", "compute_90", "--option=-lineinfo"]) == 0  # fmt: skip
        image = (folder / "kernels.ptx").read_bytes()
        manifest = {
            "format": 1, "package": "judged 1.0", "operations": list(operations),
            "image": recorded("kernels.ptx", image), "kernels": list(kernels_of(image.decode())),
        }  # fmt: skip
        (folder / "kernels.json").write_text(written({**manifest, **changes}))
        return folder

    return write


def kernels_of(ptx):
    """The entries of a manifest, for kernels without hidden parameters."""
    for name, listed in re.findall(r"\.entry (\w+)\(([^)]*)\)", ptx):
        parameters = [
            {"name": f"p{place}", "kind": "unknown", "size": 8, "offset": 8 * place}
            for place, _ in enumerate(filter(str.strip, listed.split(",")))
        ]
        yield {"name": name, "demangled": demangle(name), "parameters": parameters}


def judged(name="judged:scale", **more):
    return cupola.judge(name, seconds=1, limits=FAST, **more)


def test_a_right_operation(package):
    package()
    found = judged()
    assert (found.verdict, found.codes) == ("right", ()), str(found)
    assert "results were not compared: there is no reference" in str(found)
    told = json.loads(found.json())
    assert told["candidate"] == "judged:scale" and told["package"] == "judged 1.0"
    assert {name: one["unsure"] for name, one in told["gradients"].items()} == {"x": 0, "w": 0}
    assert all(one["directions"] > 10 for one in told["gradients"].values())
    assert told["coverage"]["lines_missed"] == [] and told["coverage"]["lines"] >= 2


def changed(table, **more):
    return {**table, **more}


WRONG = {
    # The kernel against its declaration.
    "output-not-written": ("if (i < rows * n) y", "if (i < rows * n - 1) y"),
    "uninitialised": ("y[i] = x[i]", "y[i] += x[i]"),
    "memory": ("if (i < rows * n) y", "y"),
    "writes-input": ("if (i < rows * n) y", "if (i < rows * n) ((T*)x)[i] = 1, y"),
    "race": (
        "if (i < rows * n) y[i] =",
        "__shared__ T all; all = i; if (i < rows * n) y[i] = all * 0 +",
    ),
    # The gradients.
    "wrong-gradient": ("= 2 * grad_y[i]", "= grad_y[i]"),
}


@pytest.mark.campaign("a verdict each")
def test_output_elements_that_are_not_written(package):
    package(SOURCE.replace(*WRONG["output-not-written"]))
    found = judged()
    assert found.codes == ("output-not-written",), str(found)
    (one,) = [one for one in found.findings if not one.advice]
    assert "of y are not written" in one.text


@pytest.mark.campaign("a verdict each")
@pytest.mark.parametrize("code", ["uninitialised", "memory", "writes-input", "race"])
def test_a_wrong_kernel(package, code):
    package(SOURCE.replace(*WRONG[code]))
    found = judged()
    assert found.verdict == "wrong" and code in found.codes, str(found)
    (one,) = [one for one in found.findings if one.code == code]
    assert not one.line or (one.file, one.line) == ("scale.cu", 4)


GRADIENTS = {
    "a factor": (*WRONG["wrong-gradient"], "grad_x, element"),
    "a term": ("x[r * n + i] * x[r * n + i];", "x[r * n + i];", "grad_w, element"),
    "the last element": ("= 2 * grad_y[i]", "= (i < rows * n - 1) * 2 * grad_y[i]", "grad_x, ele"),
    "infinity": ("if (i < n) grad_w[i] = sum", "if (i < n) grad_w[i] = sum / (i - i)", "inf, and "),
    "NaN": ("if (i < n) grad_w[i] = sum", 'if (i < n) grad_w[i] = nanf("")', "is nan"),
}


@pytest.mark.parametrize("name", [
    one if one == "the last element" else pytest.param(one, marks=pytest.mark.campaign("one each"))
    for one in GRADIENTS
])  # fmt: skip
def test_a_wrong_gradient(package, name):
    old, new, told = GRADIENTS[name]
    package(SOURCE.replace(old, new))
    found = judged()
    assert found.codes == ("wrong-gradient",), str(found)
    (one,) = [one for one in found.findings if not one.advice]
    assert told in one.text and one.remedy == CODES["wrong-gradient"].remedy and one.sizes["n"]


@pytest.mark.campaign("a verdict each")
def test_functions_with_kinks_have_right_gradients(package):
    """The difference across a kink is no derivative."""
    source = SOURCE.replace("x[i] * x[i] * (", "(x[i] > 0 ? x[i] : T(0)) * (")
    source = source.replace("2 * grad_y[i] * x[i]", "grad_y[i] * T(x[i] > 0)")
    source = source.replace(
        "x[r * n + i] * x[r * n + i]", "(x[r * n + i] > 0 ? x[r * n + i] : T(0))"
    )
    package(source)
    found = judged()
    assert found.verdict == "right", str(found)
    package(source.replace("T(x[i] > 0)", "T(1)"))
    assert judged().codes == ("wrong-gradient",)


SMALL = {
    # A mistake by a factor, and the type whose gradient has it.
    "float32": ("float", "1.001f"),
    "float16": ("__half", "1.03f"),
    "bfloat16": ("__nv_bfloat16", "1.1f"),
}


@pytest.mark.parametrize("types", [
    ("float32", "float16"),
    ("float32", "bfloat16"),
    pytest.param(("float32",), marks=pytest.mark.campaign("two verdicts each")),
    pytest.param(("float16",), marks=pytest.mark.campaign("two verdicts each")),
    pytest.param(("bfloat16",), marks=pytest.mark.campaign("two verdicts each")),
])  # fmt: skip
def test_a_small_factor_in_a_gradient(package, types):
    """The widest kernel of the operation has the differences; the last type has the mistake."""
    name, factor = SMALL[types[-1]]
    factor = {("float16",): "1.05f", ("bfloat16",): "1.2f"}.get(types, factor)
    source = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <class T> struct Factor { static constexpr float value = 1; };
template <class T> __global__ void wave(const T* x, T* y, int rows, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * n) y[i] = T(sinf(2 * float(x[i])) + float(x[i]));
}
template <class T>
__global__ void wave_backward(const T* grad_y, const T* x, T* grad_x, int rows, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float scale = Factor<T>::value;
    if (i < rows * n) grad_x[i] = T(scale * float(grad_y[i]) * (2 * cosf(2 * float(x[i])) + 1));
}
""" + "".join(
        f"template __global__ void wave(const {one}*, {one}*, int, int);"
        f"template __global__ void wave_backward(const {one}*, const {one}*, {one}*, int, int);"
        for one in (SMALL[each][0] for each in types)
    )
    wave = {
        **SCALE, "name": "judged.wave", "kernels": {t: f"wave<{SMALL[t][0]}>" for t in types},
        "inputs": {"x": "T[rows, n]"}, "arguments": ["x", "y", "rows", "n"],
        "checks": ["n <= 64", "rows <= 64"], "backward": "judged.wave_backward",
    }  # fmt: skip
    backward = {
        **BACKWARD, "name": "judged.wave_backward",
        "kernels": {t: f"wave_backward<{SMALL[t][0]}>" for t in types},
        "inputs": {"grad_y": "T[rows, n]", "x": "T[rows, n]"}, "outputs": {"grad_x": "T[rows, n]"},
        "arguments": ["grad_y", "x", "grad_x", "rows", "n"],
    }  # fmt: skip
    package(source, (wave, backward))
    found = judged("judged:wave")
    assert found.verdict == "right", str(found)
    resolution = json.loads(found.json())["gradients"]["x"]["resolution"]
    finest = {
        ("float32",): 2e-4, ("float32", "float16"): 0.01, ("float16",): 0.03,
        ("float32", "bfloat16"): 0.1, ("bfloat16",): 0.1,
    }  # fmt: skip
    assert list(resolution) == list(types) and resolution[types[-1]] < finest[types]
    mistake = f"template <> struct Factor<{name}> {{ static constexpr float value = {factor}; }};"
    package(source.replace("template <class T> __global__", mistake + "\ntemplate <class T> "
                           "__global__", 1), (wave, backward))  # fmt: skip
    assert judged("judged:wave").codes == ("wrong-gradient",)


@pytest.mark.campaign("two verdicts")
def test_gradients_of_families(package):
    source = """
template <int TX> __global__ void square(const float* x, float* y, int rows, int n) {
    const int i = blockIdx.x * TX + threadIdx.x;
    if (i < rows * n) y[i] = x[i] * x[i];
}
template <int TX>
__global__ void square_backward(const float* grad_y, const float* x, float* grad_x, int rows,
                                int n) {
    const int i = blockIdx.x * TX + threadIdx.x;
    if (i < rows * n) grad_x[i] = 2 * grad_y[i] * x[i] * factor;
}
""" + "".join(
        f"template __global__ void square<{one}>(const float*, float*, int, int);"
        f"template __global__ void square_backward<{one}>(const float*, const float*, float*, int, "
        "int);" for one in (16, 32)
    )  # fmt: skip

    def family(name, sizes, symbols):
        table = {
            "name": f"judged.{name}s", "kernel": f"{name}<{{TX}}>", "tunables": {"TX": [16, 32]},
            "default": {"TX": 16}, "key": ["count"], "sizes": {"count": sizes},
            "grid": ["ceildiv(count, TX)"], "block": ["TX"], "library": "kernels",
        }  # fmt: skip
        variants = [
            {"variant": [tx], "library": "judged.kernels", "kernels": {"": symbol}}
            for tx, symbol in zip((16, 32), symbols, strict=True)
        ]
        return {"table": table, "variants": variants, "dropped": {}}

    families = [
        family("square", "p2 * p3", [f"_Z6squareILi{tx}EEvPKfPfii" for tx in (16, 32)]),
        family("square_backward", "p3 * p4",
               [f"_Z15square_backwardILi{tx}EEvPKfS1_Pfii" for tx in (16, 32)]),
    ]  # fmt: skip
    left_out = ("kernels", "grid", "block")
    forward, backward = (
        {key: value for key, value in {
            **one, "family": f"judged.{name}s", "name": f"judged.{name}",
            "inputs": dict.fromkeys(inputs, "float32[rows, n]"),
            "outputs": {output: "float32[rows, n]"},
            "arguments": [*inputs, output, "rows", "n"],
        }.items() if key not in left_out}
        for one, name, inputs, output in (
            (SCALE, "square", ("x",), "y"),
            (BACKWARD, "square_backward", ("grad_y", "x"), "grad_x"),
        )
    )  # fmt: skip
    forward["backward"] = "judged.square_backward"
    package(source.replace("factor", "1"), (forward, backward), families=families)
    found = judged("judged:square")
    assert found.verdict == "right" and "gradients" not in str(found), str(found)
    assert json.loads(found.json())["gradients"]["x"]["resolution"]["float32"] < 1e-3
    package(source.replace("factor", "(TX == 32 ? 1.01f : 1)"), (forward, backward),
            families=families)  # fmt: skip
    found = judged("judged:square")
    assert found.codes == ("wrong-gradient",), str(found)
    (one,) = [one for one in found.findings if not one.advice]
    assert one.text.startswith("with TX=32: grad_x, "), one.text


@pytest.mark.campaign("a verdict each")
def test_a_gradient_of_another_shape(package):
    outputs = {"grad_x": "T[rows, n]", "grad_w": "T[n + 1]"}
    package(SOURCE.replace("if (i < n) grad_w", "if (i == 0) grad_w[n] = 0; if (i < n) grad_w"),
            (SCALE, changed(BACKWARD, outputs=outputs)))  # fmt: skip
    found = judged()
    assert found.codes == ("wrong-gradient",), str(found)
    assert "grad_w has shape" in found.findings[0].text


@pytest.mark.campaign("a verdict each")
def test_a_wrong_backward_operation(package):
    package(SOURCE.replace("if (i < rows * n) grad_x", "grad_x"))
    found = judged()
    assert found.codes == ("memory",), str(found)
    assert found.findings[0].text.startswith("the backward operation judged.scale_backward: ")


@pytest.mark.campaign("a verdict each")
def test_an_optional_input_that_is_not_given(package):
    package(SOURCE.replace("* (w ? w[i % n] : T(1));\n}", "* w[i % n];\n}", 1))
    found = judged()
    assert found.codes == ("memory",), str(found)


@pytest.mark.campaign("a verdict each")
def test_an_output_of_an_empty_grid(package):
    package(operations=(SCALE, changed(BACKWARD, grid=["ceildiv(rows * n, 32)"])))
    found = judged("judged:scale_backward")
    assert found.codes == ("output-not-written",), str(found)
    assert found.findings[0].text.startswith("the grid is empty") and found.findings[0].sizes["n"]


@pytest.mark.campaign("a verdict each")
def test_the_alignment_is_as_declared(package):
    source = SOURCE.replace("y[i] = x[i]", "y[i] = ((const double2*)x)[0].x * 0 + x[i]")
    whole = changed(SCALE, checks=["n % 4 == 0", "n <= 8", "rows <= 9"])
    package(source, (changed(whole, backward=""), BACKWARD))
    found = judged()
    assert "memory" in found.codes and "misaligned" in str(found), str(found)
    package(source, (changed(whole, backward="", align=16), BACKWARD))
    assert judged().verdict == "right"


@pytest.mark.campaign("a verdict each")
def test_a_reference(package, tmp_path):
    package()
    path = tmp_path / "reference.py"
    path.write_text(REFERENCE)
    found = judged(against=path)
    assert found.verdict == "right" and "were not compared" not in str(found), str(found)
    path.write_text(REFERENCE.replace("x * x", "x * abs(x)"))
    found = judged(against=path)
    assert found.codes == ("wrong-result-at-edge",), str(found)


@pytest.mark.campaign("a verdict each")
def test_a_file_without_a_reference(package, tmp_path):
    package()
    path = tmp_path / "reference.py"
    path.write_text('sizes = {"rows": (1, 3), "n": (5, 5)}\nranges = {"x": (1, 2)}\n'
                    "operation = dict(block=[32])\n")  # fmt: skip
    found = judged(against=path)
    assert found.verdict == "right" and "no reference" in str(found), str(found)
    path.write_text("operation = dict(block=[64])")
    (one,) = judged(against=path).findings
    assert one.code == "task" and one.text.startswith("operation: block is [64], and the package")


@pytest.mark.campaign("a verdict each")
def test_hidden_parameters_and_structs(package):
    """As images of Triton and Warp have them."""
    source = """struct View { const float* data; int n; };
extern "C" __global__ void twice(View view, float* y, void* scratch, void* more) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < view.n && !scratch && !more) y[i] = view.data[i] * 2;
}
"""
    twice = {
        "name": "judged.twice", "kernels": "twice", "inputs": {"x": "float32[n]"},
        "outputs": {"y": "float32[n]"}, "grid": ["ceildiv(n, 32)"], "block": [32],
        "arguments": [{"size": 16, "fields": [[0, 8, "x"], [8, 4, "n"]]}, "y"],
    }  # fmt: skip
    kernel = {"name": "twice", "demangled": "twice", "parameters": [
        {"name": name, "kind": "unknown", "size": 8, "offset": 0, "hidden": hidden}
        for name, hidden in (("view", False), ("y", False), ("scratch", True), ("more", True))
    ]}  # fmt: skip
    package(source, [twice], kernels=[kernel])
    found = judged("judged:twice")
    assert found.verdict == "right", str(found)
    package(source, [changed(twice, arguments=["x", "y"])], kernels=[kernel])
    assert judged("judged:twice").codes == ("launch-error",)


def test_the_command(package, tmp_path, capsys):
    folder = package(SOURCE.replace(*WRONG["memory"]))
    told = tmp_path / "verdict.json"
    done = cli("judge", "judged:scale", "--seconds", "1", "--json", told,
               PYTHONPATH=hooks.search_path(folder.parent))  # fmt: skip
    assert done.returncode == 1 and "finding memory: scale.cu:4: " in done.stdout, done.stderr
    findings = json.loads(told.read_text())["findings"]
    assert ("memory", "scale.cu", 4) in [(o["code"], o["file"], o["line"]) for o in findings]
    assert main(["judge", "judged:scales"]) == 1
    assert "it has judged.scale, judged.scale_backward" in capsys.readouterr().err
    assert main(["judge", str(tmp_path / "scale.cu")]) == 1
    assert "--against" in capsys.readouterr().err


@pytest.mark.campaign("a verdict, and a replay")
def test_a_finding_has_a_case_that_replays(package, tmp_path):
    package(SOURCE.replace(*WRONG["memory"]))
    found = judged(cases=tmp_path / "cases")
    (one,) = [one for one in found.findings if one.code == "memory"]
    done = cli("replay", one.case, "--check", "all")
    assert done.returncode == 1 and "illegal address" in done.stderr


# ---- invalid packages


def test_a_package_that_is_not_there(package):
    with pytest.raises(cupola.MissingFileError, match="no installed package no_such"):
        judged("no_such:scale")
    folder = package()
    (folder / "kernels.json").unlink()
    with pytest.raises(cupola.MissingFileError, match="no manifest of it has operations"):
        judged()
    with pytest.raises(cupola.ArgumentValueError, match="for sources"):
        judged(options=["-DN=1"])


def edited(text, **changes):
    return json.dumps({**json.loads(text), **changes})


HOSTILE = {
    "cut": (lambda text: text[: len(text) // 2], "is malformed"),
    "no JSON": (lambda text: "no", "is malformed"),
    "deep": (lambda text: "[" * 100000, "is malformed"),
    "a format": (lambda text: edited(text, format=9), "has format 9"),
    "operations": (lambda text: edited(text, operations=3), "no list of tables"),
    "an operation": (lambda text: edited(text, operations=["a"]), "no list of tables"),
    "no kernels": (lambda text: edited(text, kernels=[]), "has no kernel 'scale<float>'"),
    "a kernel": (lambda text: edited(text, kernels=[{"name": "a"}]), "is malformed"),
    "names": (lambda text: text.replace('"demangled": "', '"demangled": ["').replace(
        '", "parameters', '"], "parameters'), "is malformed"),
    "a parameter": (lambda text: text.replace('"parameters": [', '"parameters": [3, '),
                    "malformed"),
    "another image": (lambda text: re.sub('"size": (\\d+), "sha', '"size": 3, "sha', text),
                      "of another image"),
    "a digest": (lambda text: re.sub('"sha256": "....', '"sha256": "0000', text),
                 "of another image"),
    "a key": (lambda text: text.replace('"block"', '"blocks"'), "unknown key 'blocks'"),
    "a block": (lambda text: text.replace('"block": [32]', '"block": [1e9]'), "block"),
    "a length": (lambda text: text.replace("T[rows, n]", "T[rows, n][0]"), "inputs.x"),
    "a number": (lambda text: text.replace("n <= 9", f"n <= {'9' * 99}"), "64-bit integers"),
    "a backward": (lambda text: text.replace('backward": "judged.s', 'backward": "judged.t'),
                   "no operation 'judged.tcale_backward'"),
    "a name": (lambda text: re.sub('"name": "(_Z5scale\\w*)"', r'"name": "\1x"', text),
               "lacks the kernel"),
    "open": (lambda text: edited(text, open=[{"name": "f", "declaration": "int f()"}]), "int f()"),
    "family": (lambda text: text.replace('"kernels": {"float32": "scale<',
                                         '"family": "a", "kernels": {"float32": "scale<'),
               "no such family"),
}  # fmt: skip


def test_a_hostile_manifest(package):
    folder = package()
    path = folder / "kernels.json"
    text = path.read_text()
    for name, (change, told) in HOSTILE.items():
        if name == "a backward":
            continue  # is read after the launches
        path.write_text(change(text))
        assert path.read_text() != text, name
        found = judged()
        assert (found.verdict, found.codes) == ("refused", ("package",)), f"{name}: {found}"
        assert told in found.findings[0].text, f"{name}: {found}"


@pytest.mark.campaign("a verdict each")
def test_a_backward_operation_that_is_not_there(package):
    path = package() / "kernels.json"
    change, told = HOSTILE["a backward"]
    path.write_text(change(path.read_text()))
    found = judged()
    assert found.codes == ("package",) and told in str(found), str(found)


def test_a_damaged_image(package):
    folder = package()
    text = json.loads((folder / "kernels.json").read_text())
    for content in (b"", b"no image", b"\x50\xed\x55\xba" + bytes(40), b".version 8.0"):
        (folder / "kernels.ptx").write_bytes(content)
        text["image"] = recorded("kernels.ptx", content)
        (folder / "kernels.json").write_text(json.dumps(text))
        assert judged().codes == ("package",), content
