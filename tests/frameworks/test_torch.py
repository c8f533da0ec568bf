"""Operations on PyTorch's tensors: autograd, torch.compile, vmap, autocast; `make frameworks`."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import operations
from test_op import made

import cupola
from cupola.declare.operation import read
from cupola.eager_call import UNKNOWN
from cupola.ops.operation import Operation


@pytest.fixture
def device(driver):
    """Where the driver's kernels run."""
    if driver == "cuda" and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return torch.device("cpu" if driver == "cpu" else "cuda")


class Library:
    """The operations of a package, for `backward`."""

    def __init__(self):
        self.operations = {}

    def attribute(self, name):
        return self.operations[name]


NUMBERS = iter(range(1000))


@pytest.fixture
def scale(driver):
    """v = alpha * u, with gradients."""
    return package()


def package(**changes):
    """An operation as that of a package of its own."""
    library, module = Library(), operations.module()
    name = f"test{next(NUMBERS)}"

    def add(own, **table):
        declaration = read({**operations.PLANE, **changes, **table}, f"{name}.{own}")
        found = Operation(declaration, lambda kernel, device: module[kernel], library)
        library.operations[own] = found
        found.register_loaded()
        return found

    # The gradient of the gradient is the same kernel, under the names that this needs.
    add(
        "back2",
        inputs={"grad_grad_u": "T[ny, nx]"},
        outputs={"grad_grad_v": "T[ny, nx]"},
        arguments=["grad_grad_u", "grad_grad_v", "ny", "nx", "alpha"],
    )
    add(
        "back1",
        inputs={"grad_v": "T[ny, nx]"},
        outputs={"grad_u": "T[ny, nx]"},
        arguments=["grad_v", "grad_u", "ny", "nx", "alpha"],
        backward=f"{name}.back2",
    )
    return add("step", backward=f"{name}.back1")


def test_eager(device):
    step = made(operations.PLANE)
    u = torch.arange(35, dtype=torch.float32, device=device).reshape(5, 7)
    v = step(u, 3)
    assert type(v) is torch.Tensor and v.device == u.device and torch.equal(v, 3 * u)
    assert torch.equal(step(u.T, 3), 3 * u.T)
    out = torch.zeros_like(u)
    assert step(u, 4, out=out) is out and torch.equal(out, 4 * u)
    both = made(operations.BOTH)(u[0], u[1])
    assert torch.equal(both[0], u[0] + u[1]) and torch.equal(both[1], u[0] - u[1])


@pytest.fixture
def exchange():
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this PyTorch has no C exchange API of DLPack")


def test_a_call_like_one_before(device, exchange):
    step = made(operations.PLANE)
    u = torch.arange(35, dtype=torch.float32, device=device).reshape(5, 7)
    step(u)
    v = step.eager.call((u, 3), {})
    assert type(v) is torch.Tensor and v.device == u.device and torch.equal(v, 3 * u)
    out = torch.zeros_like(u)
    assert step.eager.call((u,), {"alpha": 4, "out": out}) is out and torch.equal(out, 4 * u)
    assert step.eager.call((u[:3],), {}) is UNKNOWN
    step(u[:3])
    assert torch.equal(step.eager.call((u[1:4],), {}), 2 * u[1:4])
    accumulate = made(operations.ACCUMULATE)
    cache, x = torch.zeros(100, device=device), torch.arange(100.0, device=device)
    accumulate(cache, x)
    assert accumulate.eager.call((cache, x), {}).item() == 4950 and torch.equal(cache, 2 * x)
    with pytest.raises(cupola.ArgumentValueError, match="overlaps that of argument u"):
        step.eager.call((u,), {"out": u})


def test_calls_that_need_the_dispatcher(device, exchange, scale):
    """They are like one before, and yet not made past Python."""
    u = torch.ones(5, 7, device=device)
    scale(u)
    assert scale.eager.call((u,), {}) is not UNKNOWN
    leaf = u.clone().requires_grad_()
    assert scale.eager.call((leaf,), {}) is UNKNOWN
    assert scale.eager.call((u,), {"out": leaf}) is UNKNOWN
    with torch.no_grad():
        assert not scale.eager.call((leaf,), {}).requires_grad
    assert scale.eager.call((torch.nn.Parameter(u),), {}) is UNKNOWN
    with torch.device(device):  # a mode that handles functions
        assert scale.eager.call((u,), {}) is UNKNOWN
    found = []

    def seen(x):
        found.append(scale.eager.call((x,), {}))
        return x

    torch.vmap(seen)(u[None])
    torch.func.grad(lambda x: seen(x).sum())(u)
    torch.jit.trace(seen, (u,), check_trace=False)
    assert len(found) == 3 and all(one is UNKNOWN for one in found)


def test_autocast_of_a_call_like_one_before(device, exchange):
    if not hasattr(torch.library, "register_autocast"):
        pytest.skip("this PyTorch has no register_autocast")
    step = package(autocast="float32")
    u = torch.ones(3, 4, device=device)
    step(u)
    assert step.eager.call((u,), {}) is not UNKNOWN
    with torch.autocast(device.type, torch.bfloat16):
        assert step.eager.call((u,), {}) is UNKNOWN


def test_views_that_change_the_elements(device):
    step = made(operations.PLANE)
    whole = torch.arange(12, dtype=torch.float32, device=device).reshape(1, 6, 2)
    plain = torch.view_as_complex(whole)
    u = plain.conj().imag
    assert u.is_neg() and torch.equal(step(u, 1.0), -plain.imag)
    one = u[:, :1]  # in C order
    step(one.clone())
    for _ in range(2):
        assert torch.equal(step(one, 1.0), -plain.imag[:, :1])
    accumulate = made(operations.ACCUMULATE)
    with pytest.raises(cupola.ArgumentValueError, match=r"argument cache: .*negative view"):
        accumulate(u[0, :1], torch.ones(1, device=device))


def test_mutated_inputs_optional_inputs_and_workspaces(device):
    accumulate = made(operations.ACCUMULATE)
    cache, x = torch.zeros(100, device=device), torch.arange(100.0, device=device)
    for _ in range(2):
        total = accumulate(cache, x)
    assert total.item() == 4950 and torch.equal(cache, 2 * x)
    weigh = made(operations.WEIGH)
    x = torch.arange(48.0, device=device).reshape(2, 4, 6)
    w, bias = torch.arange(6.0, device=device), torch.ones(6, device=device)
    assert torch.equal(weigh(x, w, bias), x * w + bias)
    assert torch.equal(weigh(x, w[1:2]), x)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int32", "uint8"]
)
def test_element_types(device, dtype):
    x = torch.arange(100, device=device).to(getattr(torch, dtype))
    y = made(operations.COPY)(x)
    assert y.dtype == x.dtype and torch.equal(y.view(torch.uint8), x.view(torch.uint8))


def test_the_registered_operation(device, scale):
    namespace = scale.declaration.name.partition(".")[0]
    step = getattr(torch.ops, namespace).step
    u = torch.ones(5, 7, device=device)
    assert torch.equal(step(u, 3.0), 3 * u) and torch.equal(step(u), 2 * u)


def test_gradients(device, scale):
    u = torch.randn(4, 5, dtype=torch.float64, device=device, requires_grad=True)
    scale(u, 3).sum().backward()
    assert torch.equal(u.grad, torch.full_like(u, 3))
    assert torch.autograd.gradcheck(lambda u: scale(u, 3.0), u)
    assert torch.autograd.gradgradcheck(lambda u: scale(u, 3.0), u)


def test_opcheck(device, scale):
    u = torch.randn(4, 5, dtype=torch.float64, device=device, requires_grad=True)
    torch.library.opcheck(scale._overload, (u, 3.0))
    torch.library.opcheck(scale._overload, (u.detach(),))
    weigh = made(operations.WEIGH)
    x = torch.randn(2, 3, 6, device=device)
    torch.library.opcheck(weigh._overload, (x, x[0, 0], None))
    accumulate = made(operations.ACCUMULATE)
    torch.library.opcheck(accumulate._overload, (torch.zeros(9, device=device), x.flatten()[:9]))
    torch.library.opcheck(made(operations.BOTH)._overload, (x[0, 0], x[0, 1]))


def test_compile(device, scale):
    def f(u):
        return scale(scale(u, 2.5), alpha=2) + 1

    u = torch.randn(6, 7, device=device)
    for dynamic in (False, True):  # shapes as numbers, and as symbols
        torch._dynamo.reset()
        compiled = torch.compile(f, fullgraph=True, dynamic=dynamic, backend="aot_eager")
        torch.testing.assert_close(compiled(u), 5 * u + 1)
        torch.testing.assert_close(compiled(u[:3]), 5 * u[:3] + 1)
        leaf = u.clone().requires_grad_()
        compiled(leaf).sum().backward()
        torch.testing.assert_close(leaf.grad, torch.full_like(u, 5))


class Model(torch.nn.Module):
    """Operations between others: with a scalar, a broadcast size, an input that is missing."""

    def __init__(self, step):
        super().__init__()
        self.step, self.weigh = step, made(operations.WEIGH)

    def forward(self, u, w):
        return self.weigh(self.step(u, 3.0) + 1, w, None)


def exported(model, device, **options):
    """The program for any number of rows."""
    u, w = torch.randn(4, 5, device=device), torch.randn(5, device=device)
    shapes = {"u": {0: torch.export.Dim("rows")}, "w": None}
    return torch.export.export(model, (u, w), dynamic_shapes=shapes, **options)


def require_rows(program, device):
    """The program computes what the model does, for another number of rows."""
    u, w = torch.randn(3, 5, device=device), torch.randn(5, device=device)
    torch.testing.assert_close(program(u, w), (3 * u + 1) * w)


@pytest.mark.parametrize("strict", [False, True])
def test_export(device, scale, strict, tmp_path):
    program = exported(Model(scale), device, strict=strict)
    targets = [str(node.target) for node in program.graph.nodes]
    assert sum("step" in one for one in targets) == 1  # the operation itself, not its kernel
    require_rows(program.module(), device)
    require_rows(program.run_decompositions().module(), device)
    torch.export.save(program, tmp_path / "model.pt2")
    require_rows(torch.export.load(tmp_path / "model.pt2").module(), device)


def test_export_of_a_changed_input(device):
    accumulate = made(operations.ACCUMULATE)

    class Accumulate(torch.nn.Module):
        def forward(self, cache, x):
            return accumulate(cache, x) + 1

    cache, x = torch.zeros(9, device=device), torch.arange(9.0, device=device)
    program = torch.export.export(Accumulate(), (cache, x)).run_decompositions()
    assert program.module()(cache, x).item() == 37 and torch.equal(cache, x)


PACKAGE = """
import sys, torch
class Twice(torch.nn.Module):
    def forward(self, x):
        return 2 * x
program = torch.export.export(Twice(), (torch.ones(3),))
torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[1])
print(torch._inductor.aoti_load_package(sys.argv[1])(torch.ones(3)).sum().item())
"""


def loads_packages(path):
    """Whether AOTInductor works with a model of PyTorch's own operations: it may crash."""
    command = [sys.executable, "-c", PACKAGE, str(path / "twice.pt2")]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0 and done.stdout.strip() == "6.0"


def test_ahead_of_time(driver, tmp_path):
    """A package of AOTInductor, for CPU tensors, calls the operation."""
    if not hasattr(torch._inductor, "aoti_compile_and_package"):
        pytest.skip("this PyTorch has no packages of AOTInductor")
    if not loads_packages(tmp_path):
        pytest.skip("AOTInductor of this PyTorch loads no package")
    program = exported(Model(made(operations.PLANE)), "cpu")
    package = str(tmp_path / "model.pt2")
    torch._inductor.aoti_compile_and_package(program, package_path=package)
    with cupola.Device("cpu"):
        require_rows(torch._inductor.aoti_load_package(package), "cpu")


@pytest.mark.parametrize("vmap", ["", "batch-first"])
def test_vmap(device, vmap):
    step = package(**({"vmap": vmap} if vmap else {}))
    u = torch.randn(3, 4, 5, device=device)
    for dim in (0, 1, 2):
        found = torch.vmap(lambda u: step(u, 3.0), in_dims=dim, out_dims=dim)(u)
        torch.testing.assert_close(found, 3 * u)
    torch.testing.assert_close(torch.vmap(torch.vmap(lambda u: step(u, 3.0)))(u[None]), 3 * u[None])
    gradients = torch.func.vmap(torch.func.grad(lambda u: step(u, 3.0).sum()))(u)
    torch.testing.assert_close(gradients, torch.full_like(u, 3))
    total = torch.func.grad(lambda u: torch.vmap(lambda u: step(u, 3.0))(u).sum())(u)
    torch.testing.assert_close(total, torch.full_like(u, 3))


def test_vmap_in_one_launch_and_by_leading_axes(device):
    if not hasattr(torch.library, "register_vmap"):
        pytest.skip("this PyTorch has no register_vmap: it calls element by element")
    number = made(operations.NUMBER)
    x = torch.zeros(4, 5, device=device)
    assert torch.equal(
        torch.vmap(number)(x), torch.arange(4.0, device=device)[:, None].expand(4, 5)
    )
    weigh = made(operations.WEIGH)
    x, w = torch.randn(2, 3, 6, device=device), torch.randn(6, device=device)
    torch.testing.assert_close(torch.vmap(lambda x: weigh(x, w))(x), x * w)
    many = torch.stack([w, 2 * w])
    torch.testing.assert_close(torch.vmap(weigh)(x, many), x * many[:, None])


def test_autocast(device):
    if not hasattr(torch.library, "register_autocast"):
        pytest.skip("this PyTorch has no register_autocast")
    step = package(autocast="float32")
    u = torch.ones(3, 4, dtype=torch.float16, device=device)
    with pytest.raises(cupola.ArgumentTypeError, match="no kernel for T = float16"):
        step(u)
    with torch.autocast(device.type, torch.bfloat16):
        v = step(u)
    assert v.dtype == torch.float32 and torch.equal(v, torch.full_like(v, 2))


def test_bad_calls(device, scale):
    step = made(operations.PLANE, "heat.step")
    u = torch.ones(5, 7, device=device)
    leaf = u.clone().requires_grad_()
    with pytest.raises(cupola.ArgumentValueError, match=r"heat\.step: a tensor requires grad"):
        step(leaf)
    with torch.no_grad():
        assert torch.equal(step(leaf), 2 * u)
    with pytest.raises(cupola.ArgumentTypeError, match="no kernel for T = int32"):
        step(u.int())
    with pytest.raises(cupola.ArgumentValueError, match="argument u: expected T"):
        step(u[0])
    with pytest.raises(cupola.ArgumentValueError, match="overlaps that of argument u"):
        step(u, out=u)
    with pytest.raises(cupola.ArgumentTypeError, match=r"argument b: expected a torch\.Tensor"):
        made(operations.BOTH)(u[0], np.ones(7, np.float32))
    with pytest.raises(cupola.ArgumentTypeError, match="current stream"):
        step(u, stream=cupola.Stream())
    with pytest.raises(cupola.ArgumentValueError, match="n is 7, by argument a"):
        made(operations.BOTH)(u[0], u[:, 0])
    with pytest.raises(cupola.ArgumentTypeError, match="layout"):
        step(u.to_sparse())


@pytest.mark.cuda_only("CUDA graphs are a GPU's")
def test_cuda_graph(device, scale):
    u = torch.ones(5, 7, device=device)
    scale(u)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        v = scale(u, 3)
    u.fill_(2)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(v, 3 * u)


def test_a_float16_result_equals_torchs(device):
    x = torch.randn(33, device=device).half()
    assert torch.equal(made(operations.COPY)(x), x)


def weighs(x, y, name, **more):
    """y = x * w, with the operation of its gradient in hand."""
    return cupola.op(
        operations.module()["weigh"],
        name,
        inputs={x: "float32[*rows, n]", "w": "float32[n]", "bias": "float32[n]?"},
        outputs={y: "float32[*rows, n]"},
        arguments=[x, "w", "bias", y, "rows", "n", "n", "1", "1"],
        grid=["ceildiv(rows * n, 128)"],
        block=[128],
        **more,
    )


def test_gradients_of_gradients_in_hand(device):
    last = weighs("grad_grad_x", "grad_grad_y", "last")
    back = weighs("grad_y", "grad_x", "back", backward=last)
    forward = weighs("x", "y", "forward", backward=back)
    x = torch.arange(1.0, 7.0, device=device, requires_grad=True)
    w = torch.arange(6.0, device=device)

    def second(function, again=False):
        (first,) = torch.autograd.grad((function(x) ** 3).sum(), x, create_graph=True)
        return torch.autograd.grad((first**2).sum(), x, create_graph=again)[0]

    torch.testing.assert_close(second(lambda x: forward(x, w)), second(lambda x: x * w))
    with pytest.raises(cupola.ArgumentValueError, match="last: a tensor requires grad"):
        second(lambda x: forward(x, w), again=True)


def test_a_scalar_has_no_gradient(device):
    step = made(operations.PLANE)
    u, alpha = torch.ones(2, 3, device=device), torch.tensor(2.0, requires_grad=True)
    with pytest.raises(cupola.ArgumentValueError, match=r"alpha: the tensor requires grad.*scalar"):
        step(u, alpha)
    with torch.no_grad():
        assert (step(u, alpha) == 2).all()
    for value in (0.0, -0.0, 0.0):
        assert (torch.signbit(step(u, value)) == np.signbit(value).item()).all()


def test_a_host_tensor_that_the_kernel_writes(driver):
    inputs = dict(x="float32[n]", cache="float32[n]")
    accumulate = made({**operations.ACCUMULATE, "inputs": inputs})
    x, cache = cupola.to_device(np.ones(100, np.float32)), torch.zeros(100)
    with pytest.raises(cupola.ArgumentTypeError, match="argument cache: the kernel writes it"):
        accumulate(x, cache)
    assert not cache.any()
