"""printf and assert in kernels: sys.stdout where it is replaced, and exceptions with attributes."""

import contextlib
import io
import pickle
import sys
import textwrap
from pathlib import Path

import images
import numpy as np
import pytest
from test_driver import good, run
from wrapped import wrap

import cupola

SOURCE = Path(__file__).with_name("device_output.cu")


def image():
    return images.compiled("device_output.ptx", SOURCE, "-ptx", "-lineinfo", "-arch=compute_75")


@pytest.fixture(scope="module")
def module():
    return cupola.load(image())


@pytest.fixture
def script():
    """Runs code in a process of its own, with the module; returns what it wrote to stdout."""
    begin = f"""
    import contextlib, io, os, sys, time
    import numpy as np, cupola
    module = cupola.load({str(image())!r})
    """

    def run(code, **variables):
        return good(textwrap.dedent(begin) + textwrap.dedent(code), **variables).stdout

    return run


def test_text_stands_between_the_prints_of_python(module, capsys):
    print("before")
    module["say"][2, 1](1)
    cupola.Device().synchronize()
    print("between")
    module["say"][1, 1](2)
    cupola.Device().synchronize()
    expected = "before\nlaunch 1, block 0\nlaunch 1, block 1\nbetween\nlaunch 2, block 0\n"
    assert capsys.readouterr().out == expected


QUERY = pytest.mark.cpu_only("NVIDIA's driver writes at waits, not at queries")


@pytest.mark.parametrize("wait", ["stream", "event", "copy", pytest.param("query", marks=QUERY)])
def test_each_wait_of_the_host_delivers(module, capsys, wait):
    x = cupola.zeros(4, np.float32)
    cupola.Device().synchronize()
    stream = cupola.Stream(non_blocking=True)
    module["say"][1, 1, stream](7)
    if wait == "stream":
        stream.synchronize()
    elif wait == "event":
        stream.record().synchronize()
    elif wait == "copy":
        with stream:
            x.get()
    else:
        while not stream.done:
            pass
    assert capsys.readouterr().out == "launch 7, block 0\n"


@pytest.mark.cpu_only("NVIDIA's driver writes at its own time before a launch")
def test_a_launch_delivers_the_text_before_it(module, capsys):
    stream = cupola.Stream()
    module["say"][1, 1, stream](1)
    while not stream.done:
        pass
    capsys.readouterr()
    done = cupola.Event()
    module["say"][1, 1, stream](2)
    done.record(stream)
    while not done.done:  # reads nothing that a wait would deliver first
        pass
    assert capsys.readouterr().out == "launch 2, block 0\n"


def test_each_launch_of_a_graph_prints(module, capsys):
    graph = cupola.Graph()
    graph.add_kernel(module["say"], 1, 1, 5)
    run = graph.instantiate()
    for _ in range(2):
        run.launch()
        cupola.Device().synchronize()
    assert capsys.readouterr().out == "launch 5, block 0\n" * 2


def test_worker_threads_do_not_need_the_gil(module, capsys):
    """The kernel ends while this thread runs Python code only."""
    x = cupola.zeros(64, np.int32)
    module["spin"][50, 64](x, 100)
    stream = cupola.Stream()
    for _ in range(200_000):
        pass
    stream.synchronize()
    cupola.Device().synchronize()
    numbers = sorted(map(int, capsys.readouterr().out.split()))
    assert numbers == list(range(3200))


def test_text_goes_to_the_object_of_the_time_of_the_wait(module):
    first, second = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(first):
        module["say"][1, 1](1)
        cupola.Device().synchronize()
    with contextlib.redirect_stdout(second):
        module["say"][1, 1](2)
        cupola.Device().synchronize()
    assert first.getvalue() == "launch 1, block 0\n"
    assert second.getvalue() == "launch 2, block 0\n"


def test_a_target_that_fails_is_reported_and_no_launch_fails(module, monkeypatch):
    class Closed:
        def write(self, text):
            raise ValueError("closed")

    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    monkeypatch.setattr(sys, "stdout", Closed())
    module["say"][1, 1](1)
    cupola.Device().synchronize()
    assert [str(each.exc_value) for each in told] == ["closed"]
    assert "printf" in told[0].err_msg


def test_the_process_s_own_stdout_gets_the_text_from_c(script):
    """Also where Python's object has no descriptor left."""
    code = """
    module["say"][1, 1](1)
    cupola.Device().synchronize()
    os.write(1, b"after\\n")
    """
    assert script(code).splitlines() == ["launch 1, block 0", "after"]


@pytest.mark.cpu_only("NVIDIA's driver drops text without a wait")
def test_the_exit_of_python_delivers(script, tmp_path):
    code = f"""
    sys.stdout = open({str(tmp_path / "out.txt")!r}, "w")
    event = cupola.Event()
    module["say"][1, 1](1)
    event.record()
    time.sleep(0.2)
    """
    assert script(code) == ""
    assert (tmp_path / "out.txt").read_text() == "launch 1, block 0\n"


@pytest.mark.cpu_only("NVIDIA's driver loses text without a line")
def test_beyond_the_limit_the_oldest_text_is_lost(script):
    code = """
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        module["fill"][30000, 1]()
        cupola.Device().synchronize()
    note, *lines = out.getvalue().splitlines()
    assert 900_000 < len(out.getvalue()) < (1 << 20) + 300, len(out.getvalue())
    lost = int(note[1:].split()[0])
    assert "CU_LIMIT_PRINTF_FIFO_SIZE" in note
    assert lost + sum(len(line) + 1 for line in lines) == 30000 * 41
    assert len({int(line.split()[0]) for line in lines}) == len(lines)
    """
    script(code)


def test_a_failed_assertion_is_an_exception_with_attributes(script):
    lines = SOURCE.read_text().splitlines()
    line = 1 + next(n for n, text in enumerate(lines) if "assert(" in text)
    code = f"""
    module["must"][(2, 1), (4, 2)]()
    try:
        cupola.Device().synchronize()
    except cupola.DeviceAssertionError as error:
        assert isinstance(error, (cupola.DriverError, AssertionError)) and error.code == 710
        if cupola.driver.info().kind == "cpu":
            assert error.line == {line} and error.file == {str(SOURCE)!r}
            assert error.function == "void check(int)" and error.kernel == "must"
            assert error.expression == 'n < 5 && "too many"'
            assert error.block == (0, 0, 0) and error.thread == (0, 1, 0)
        import pickle
        again = pickle.loads(pickle.dumps(error))
        assert vars(again) == vars(error) and str(again) == str(error)
    else:
        raise SystemExit("no error")
    """
    script(code)


def test_what_is_not_known_of_an_assertion_is_none():
    error = cupola.DeviceAssertionError("text", 710, "CUDA_ERROR_ASSERT")
    found = [error.file, error.line, error.function, error.expression, error.kernel]
    assert [*found, error.block, error.thread] == [None] * 7
    assert pickle.loads(pickle.dumps(error)).name == "CUDA_ERROR_ASSERT"


@pytest.mark.cpu_only("a seed is of the CPU device")
def test_a_seed_of_the_environment_orders_all_launches(script):
    """The blocks print in an order that repeats."""
    code = """
    module["say"][6, 1](1)
    module["say"][6, 1](2)
    cupola.Device().synchronize()
    """
    usual = script(code)
    orders = [script(code, CUPOLA_CPU_SEED=str(seed)) for seed in (5, 5, 6)]
    assert orders[0] == orders[1] != orders[2] and usual not in orders
    assert all(sorted(order.split()) == sorted(usual.split()) for order in orders)


@pytest.mark.cpu_only("a seed is of the CPU device")
@pytest.mark.parametrize("value", ["x", "-1", "1.5", str(2**64)])
def test_a_seed_is_a_whole_number(value):
    answer = run("import cupola; cupola.zeros(1)", CUPOLA_CPU_SEED=value)
    assert answer.returncode != 0
    assert f'CUPOLA_CPU_SEED is "{value}"; expected a whole number' in answer.stderr


# A driver that writes as NVIDIA's does: at the wait of the host, to the descriptors 1 and 2.
WRITES = r"""
int fails;
static int my_cuCtxSynchronize(void) {
    printf("from the driver\n");
    if (fails) {
        fprintf(stderr, "other\nk.cu:7: void f(T) [with T = a::b]: block: [1,0,2], thread: [5,6,0] "
                        "Assertion `n > 0` failed.\n");
        return 710;
    }
    return real("cuCtxSynchronize")();
}
"""


@pytest.fixture
def nvidia(script, tmp_path):
    library = wrap(tmp_path, WRITES, replace=["cuCtxSynchronize"])
    begin = f"""
    import ctypes
    fails = ctypes.c_int.in_dll(ctypes.CDLL({str(library)!r}), "fails")
    assert cupola.driver.info().kind == "cuda"
    """

    def run(code):
        return script(textwrap.dedent(begin) + textwrap.dedent(code), CUPOLA_DRIVER=library)

    return run


@pytest.mark.cpu_only("a library stands for NVIDIA's driver")
def test_output_of_nvidia_s_driver_is_read_from_the_descriptor(nvidia):
    code = """
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        cupola.Device().synchronize()
    assert out.getvalue() == "from the driver\\n", out.getvalue()
    cupola.Device().synchronize()
    """
    assert nvidia(code) == "from the driver\n"


@pytest.mark.cpu_only("a library stands for NVIDIA's driver")
def test_an_assertion_of_nvidia_s_driver_is_read_from_the_descriptor(nvidia):
    code = """
    fails.value = 1
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            cupola.Device().synchronize()
        except cupola.DeviceAssertionError as caught:
            error = caught
    assert (error.file, error.line, error.expression) == ("k.cu", 7, "n > 0")
    assert error.function == "void f(T) [with T = a::b]" and error.kernel is None
    assert error.block == (1, 0, 2) and error.thread == (5, 6, 0)
    try:
        cupola.Device().synchronize()
    except cupola.DeviceAssertionError as caught:
        assert caught.file is None  # written to standard error, where nothing reads it
    """
    nvidia(code)


def test_waits_inside_the_library_deliver(module, capsys):
    module["say"][1, 1](3)
    cupola.hello(1, 2)
    assert capsys.readouterr().out == "launch 3, block 0\n" + "Hello World From GPU!\n" * 2
