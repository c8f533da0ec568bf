"""Wrong uses of cupola: each is refused with a message that names it, and changes nothing."""

import ctypes

import images
import numpy as np
import pytest
from test_driver import compile_library, good, run
from working import refused, refused_argument

import cupola
from cupola.image.manifest import Parameter


@pytest.fixture
def module(driver):
    return images.module()


@pytest.fixture
def x(driver):
    return cupola.to_device(np.arange(10, dtype=np.float32))


class Foreign:
    """An array of another library."""

    def __init__(self, array, **changed):
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changed}


SHIPPED = {
    "mandelbrot lattice": lambda a: cupola.mandelbrot(lattice=a),
    "mandelbrot out": lambda a: cupola.mandelbrot(10, out=a.reshape(2, 5)),
    "saxpy x": lambda a: cupola.saxpy(2, a, a),
    "saxpy out": lambda a: cupola.saxpy(2, cupola.zeros(10, "f4"), cupola.zeros(10, "f4"), out=a),
    "convolve filter": lambda a: cupola.convolve(cupola.zeros((3, 3), "f4"), a),
    "asarray": cupola.asarray,
    "to_device": cupola.to_device,
    "the interface": lambda a: a.__cuda_array_interface__,
    "an item": lambda a: a[0],
}


@pytest.mark.parametrize("use", SHIPPED)
@pytest.mark.parametrize("foreign", [False, True])
def test_a_freed_array_is_used_by_nothing(x, use, foreign):
    array = cupola.asarray(Foreign(x)) if foreign else x
    array.free()
    array.free()
    assert "freed" in repr(array)
    with refused(cupola.ArgumentError, ValueError, saying="was freed"):
        SHIPPED[use](array)


def test_a_prepared_launch_of_an_array_that_gave_up_its_memory(module):
    x = cupola.zeros(1, np.int32)
    borrowed = cupola.asarray(Foreign(x))
    launch = module["increment"].prepare(1, 1, borrowed, 1)
    launch()
    borrowed.free()
    with refused(cupola.ArgumentError, ValueError, saying=("increment", "was freed")):
        launch()
    assert x.get() == 1


@pytest.mark.parametrize(
    "changed", [{"typestr": "|O"}, {"shape": (-3,)}, {"shape": (2.5,)}, {"shape": 3}, {"data": 5}]
)
def test_interfaces_that_make_no_sense(module, x, changed):
    wrong = Foreign(x, **changed)
    for use in (cupola.asarray, cupola.to_device, x.set):
        with refused(cupola.ArgumentError, TypeError, saying="__cuda_array_interface__"):
            use(wrong)
    refused_argument(module["axpy"], 1, 2.0, wrong, x, x, 1, error=TypeError)


def test_a_result_over_what_is_still_read(x):
    square = cupola.zeros((5, 5), np.float32)
    line = square.reshape(25)
    cupola.saxpy(2, x, x, out=x)
    for call in (
        lambda: cupola.saxpy(2, x[:9], x[:9], out=x[1:]),
        lambda: cupola.saxpy(2, cupola.zeros(9, "f4"), x[1:], out=x[:9]),
        lambda: cupola.mandelbrot(lattice=line[20:], out=square),
        lambda: (
            cupola.convolve(square, line[:1].reshape(1, 1), out=cupola.zeros((5, 5), "f4")),
            cupola.convolve(cupola.zeros((5, 5), "f4"), line[:1].reshape(1, 1), out=square),
        ),
        lambda: cupola.convolve(square, cupola.zeros((1, 1), "f4"), out=square),
    ):
        with refused(cupola.ArgumentError, ValueError, saying="overlaps"):
            call()


@pytest.mark.parametrize("value", [1e39, -1e300, 10**400, np.float64(1e39)])
def test_numbers_that_no_float32_holds(x, value):
    host = np.ones(3, np.float32)
    with refused(cupola.ArgumentError, ValueError, saying="range of float32"):
        cupola.saxpy(value, host, host)


def test_arrays_left_out(x):
    host = np.ones((3, 3), np.float32)
    for call in (lambda: cupola.saxpy(2, None, host), lambda: cupola.convolve(host, None)):
        with refused(cupola.ArgumentError, TypeError, saying="NoneType"):
            call()
    with refused(cupola.ArgumentError, ValueError, saying="border"):
        cupola.convolve(host, host, border=[])
    with refused(cupola.ArgumentError, TypeError, saying="threads"):
        cupola.hello(1, (2, 2))


def test_texts_have_cpp_names_and_short_numbers(module):
    kernel, out = module["store<float>"], cupola.empty((), np.float32)
    with refused(cupola.ArgumentError) as caught:
        kernel[1, 1](out, 1e300)
    text = "store<float>: argument 1: expected float, got the float 1e+300, which is out of its"
    assert str(caught.value) == f"{text} range"
    with refused(cupola.ArgumentError, saying="store<float>: grid (0, 1, 1)"):
        kernel[0, 1]
    assert repr(kernel).startswith("<cupola.Kernel store<float>(float*, float)")
    small = module["store<signed char>"]
    out = cupola.empty((), np.int8)
    for value in (128, -129, 2**40):
        with refused(
            cupola.ArgumentError, saying=f"the integer {value}, which is out of its range"
        ):
            small[1, 1](out, value)
    refused_argument(small, 1, out, 128, error=ValueError, got="(-128 to 127)")
    with refused(cupola.NotFoundError, saying="names are: saxpy") as caught:
        cupola.shipped_kernels()["saxpi"]


def test_what_is_expected_is_worded_alike_whoever_refuses(module):
    """The library refuses a float, Cython a str, a host array, None and an array."""
    kernel = module["store<int>"]
    out = cupola.empty((), np.int32)
    texts = set()
    for value in (1.5, "1", [1], None, out, 1 << 70):
        with pytest.raises(cupola.ArgumentError) as caught:
            kernel[1, 1](out, value)
        texts.add(str(caught.value).partition(", got ")[0])
    assert texts == {"store<int>: argument 1: expected int"}


def test_endless_integers(module):
    huge = 10**5000  # Python refuses to write it
    kernel, out = module["store<int>"], cupola.empty((), np.int32)
    for call in (lambda: kernel[1, 1](out, huge), lambda: kernel[huge, 1]):
        with refused(cupola.ArgumentError, ValueError) as caught:
            call()
        assert len(str(caught.value)) < 300
    with refused(cupola.ArgumentError, ValueError):
        cupola.mandelbrot(huge)


def test_more_shared_memory_than_there_is(module):
    kernel = module["reverse_dynamic"]
    for call in (kernel.max_potential_block_size, lambda n: kernel.forall(5, shared=n)):
        with refused(cupola.ArgumentError, ValueError, saying="shared memory"):
            call(1 << 30)
    with refused(cupola.ArgumentError, ValueError, saying="shared memory"):
        kernel.occupancy(32, 1 << 30)
    assert kernel.occupancy(32, 60 << 10) >= 1  # more than what needs no permission
    assert kernel.max_potential_block_size(60 << 10) >= 32


@pytest.mark.parametrize("kind", ["signed", "unsigned", "float", "pointer"])
def test_a_manifest_that_takes_a_struct_for_a_number(driver, kind):
    image = images.fatbin().read_bytes()
    true = cupola.Module(image)["odd"].params[0]
    assert true.size not in (1, 2, 4, 8)
    odd = Parameter("odd", kind, "", 0, true.size, None, False)
    declared = {"odd": [odd, Parameter("out", "pointer", "int", 0, 0, None, False)]}
    with refused(cupola.ImageError, saying="manifest"):
        cupola.Module(image, "odd.fatbin", declared)["odd"]


def test_a_stream_stays_what_it_is(driver):
    stream = cupola.Stream()
    handle = stream.handle
    with pytest.raises(TypeError, match="once"):
        stream.__init__()
    assert stream.handle == handle


def test_null_handles_of_the_c_abi_are_errors(driver):
    library = ctypes.CDLL(cupola.paths.library())
    buffer = ctypes.create_string_buffer(8)
    for noun in ("stream", "event", "memory", "module", "kernel"):
        getattr(library, f"cupola_{noun}_retain")(None)
        getattr(library, f"cupola_{noun}_release")(None)
        assert getattr(library, f"cupola_{noun}_device")(None) == -1
    library.cupola_argument_float.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_double]
    assert library.cupola_argument_int(None, buffer, 0, ctypes.c_int64(1)) == 3
    assert library.cupola_argument_float(None, buffer, 0, 1.0) == 3
    assert library.cupola_argument_bytes(None, buffer, 0, buffer, 1) == 3
    assert library.cupola_kernel_parameter_count(None) == 0


def test_the_library_in_use_is_told_whatever_happens_later(tmp_path):
    library = cupola.paths.library()
    code = f"""
    import os
    os.chdir({str(tmp_path)!r})
    import cupola, cupola.paths
    first = cupola.paths.library()
    assert os.path.samefile(first, {library!r})
    os.chdir("/")
    os.environ["CUPOLA_LIBRARY"] = "/somewhere/else"
    assert cupola.paths.library() == first
    """
    (tmp_path / "libcupola.so").symlink_to(library)
    good(code, CUPOLA_LIBRARY="libcupola.so")


def test_fork_while_another_thread_loads_the_driver(tmp_path):
    """The child must not wait for a thread which it does not have."""
    slow = "#include <unistd.h>\n__attribute__((constructor)) static void slow(void) { sleep(3); }"
    library = compile_library(tmp_path, "libslow.so", slow)
    code = """
    import os, signal, threading, time, warnings
    import cupola, cupola.driver
    warnings.simplefilter("ignore", DeprecationWarning)

    def load():
        try:
            cupola.driver.info()
        except cupola.DriverError as error:
            assert "no cuInit" in str(error), error
            told.append(True)

    told = []
    thread = threading.Thread(target=load)
    thread.start()
    time.sleep(0.7)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            cupola.driver.report()
            cupola.driver.info()
        except cupola.DriverError as error:
            os._exit(0 if "fork" in str(error) else 3)
        os._exit(4)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()
    assert told
    """
    good(code, CUPOLA_DRIVER=str(library))


@pytest.mark.cpu_only("the loader finds NVIDIA's own driver elsewhere")
def test_a_broken_driver_is_no_missing_driver(tmp_path):
    (tmp_path / "libcuda.so.1").write_bytes(b"\x7fELF")
    code = "import cupola; print(cupola.driver.info().kind)"
    answer = run(code, CUPOLA_DRIVER="auto", LD_LIBRARY_PATH=str(tmp_path))
    assert answer.stdout.strip() == "cpu" and answer.returncode == 0
    assert "RuntimeWarning" in answer.stderr and "libcuda.so.1" in answer.stderr


def test_memory_of_a_per_thread_stream_freed_by_another_thread(module):
    """The freeing thread cannot name the stream, so it waits for the stream's work."""
    code = """
    import threading
    import numpy as np, cupola
    kernel = cupola.load({ptx!r})["congruential"]
    things = []

    def work():
        with cupola.Stream.from_handle(2) as stream:
            array = cupola.to_device(np.ones(1, np.uint32))
            kernel[1, 1](array, 3_000_000)
            things.extend([array, stream.record()])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    array, queued = things
    array.free()
    assert queued.done
    """
    good(code.format(ptx=str(images.ptx())))
