"""Properties that hold where a driver call fails, or takes long, during an operation."""

import textwrap

import images
import pytest
from test_driver import good
from wrapped import wrap

pytestmark = pytest.mark.cpu_only("the CPU device stands for a driver that fails")

SOURCE = """
/* How many calls go well before one fails; how many there are of what was made. */
int hosts_left = 1 << 30, loads_left = 1 << 30, attributes_left = 1 << 30, contexts_left = 1 << 30;
int hosts, events, attributes, slow;
static int my_cuMemHostAlloc(void** at, size_t bytes, unsigned flags) {
    if (hosts_left-- <= 0) return 2;
    __sync_fetch_and_add(&hosts, 1);
    return real("cuMemHostAlloc")(at, bytes, flags);
}
static int my_cuMemFreeHost(void* at) {
    __sync_fetch_and_sub(&hosts, 1);
    return real("cuMemFreeHost")(at);
}
static int my_cuEventCreate(void** event, unsigned flags) {
    __sync_fetch_and_add(&events, 1);
    return real("cuEventCreate")(event, flags);
}
static int my_cuEventDestroy(void* event) {
    __sync_fetch_and_sub(&events, 1);
    return real("cuEventDestroy_v2")(event);
}
static int my_cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                                 void** values) {
    if (loads_left-- <= 0) return 2;
    return real("cuModuleLoadDataEx")(module, image, count, options, values);
}
static int my_cuFuncSetAttribute(void* function, int attribute, int value) {
    void* context = 0;
    real("cuCtxGetCurrent")(&context);
    if (!context) return 201; /* as NVIDIA's driver has it */
    if (attributes_left-- <= 0) return 2;
    ++attributes;
    return real("cuFuncSetAttribute")(function, attribute, value);
}
static int my_cuCtxGetCurrent(void** context) {
    if (contexts_left <= 0) return 999;
    return real("cuCtxGetCurrent")(context);
}
static int my_cuStreamEndCapture(void* stream, void** graph) {
    if (slow) usleep(100000);
    return real("cuStreamEndCapture")(stream, graph);
}
"""
REPLACED = [
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuEventCreate",
    "cuEventDestroy",
    "cuModuleLoadDataEx",
    "cuFuncSetAttribute",
    "cuCtxGetCurrent",
    "cuStreamEndCapture",
]


@pytest.fixture
def failing(tmp_path):
    """Runs code with the driver, whose numbers are `numbers["..."].value`."""
    library = wrap(tmp_path, SOURCE, replace=REPLACED)
    begin = f"""
    import ctypes, gc, threading, numpy as np, cupola
    native = ctypes.CDLL({str(library)!r})
    class Numbers:
        def __getattr__(self, name):
            return ctypes.c_int.in_dll(native, name).value
        def __setattr__(self, name, value):
            ctypes.c_int.in_dll(native, name).value = value
    numbers = Numbers()
    """

    def run(code, **variables):
        begun = textwrap.dedent(begin) + textwrap.dedent(code)
        return good(begun, CUPOLA_DRIVER=library, **variables)

    return run


@pytest.mark.parametrize(
    ("value", "staged"),
    [("", 0), ("0", 0), ("65536", 1), ("64k", 1), ("64KiB", 1), ("1M", 0), ("1gib", 0)],
)
def test_sizes_may_have_units(failing, value, staged):
    code = f"""
    x = cupola.to_device(np.zeros(1 << 17, np.uint8))
    assert (numbers.hosts > 0) == {staged}, numbers.hosts
    """
    failing(code, CUPOLA_STAGING_BYTES=value)


def test_page_locked_memory_that_runs_out_leaves_none_behind(failing):
    """The copy goes the driver's own way then."""
    code = """
    host = np.arange(1 << 20, dtype=np.int32)
    cupola.to_device(host[:8])
    hosts, events = numbers.hosts, numbers.events
    numbers.hosts_left = 3
    x = cupola.to_device(host)
    assert numbers.hosts_left < 0
    assert (numbers.hosts, numbers.events) == (hosts, events), (numbers.hosts, numbers.events)
    assert (x.get() == host).all()
    """
    failing(code, CUPOLA_STAGING_BYTES="1M", CUPOLA_STAGING_THREADS="3")


def test_a_copy_says_what_its_kernel_could_not_be_loaded_for(failing):
    code = """
    x = cupola.zeros((64, 64), np.int32)
    numbers.loads_left = 0
    try:
        x.T.copy()
    except cupola.OutOfMemoryError as error:
        assert "asked for an image and its variables" in str(error), error
    else:
        raise SystemExit("it was loaded")
    numbers.loads_left = 1 << 30
    assert (x.T.copy().get() == 0).all()
    """
    failing(code)


@pytest.mark.parametrize("where", ["a thread", "a failure"])
def test_large_clusters_are_allowed_before_one_is_launched(failing, where):
    code = f"""
    kernel = cupola.load({str(images.ptx(90))!r})["increment"]
    x, stream = cupola.zeros(16, np.int32), cupola.Stream()
    cupola.Device().synchronize()
    launch = kernel.prepare(16, 1, x, 16, cluster=16, stream=stream)
    failed = []
    if {where!r} == "a failure":
        numbers.attributes_left = 0
        try:
            launch()
        except cupola.DriverError as error:
            assert "cuFuncSetAttribute" in str(error), error
        else:
            raise SystemExit("it was launched")
        numbers.attributes_left = 1 << 30
        launch()
    else:
        def work():
            try:
                launch()
            except Exception as error:
                failed.append(error)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not failed, failed
    assert numbers.attributes == 1
    stream.synchronize()
    """
    failing(code)


def test_two_threads_end_one_capture(failing):
    code = """
    stream, x = cupola.Stream(), cupola.zeros(8, np.int32)
    library = ctypes.CDLL(cupola.paths.library())
    cupola.Device().synchronize()
    capture = stream.capture("relaxed")
    numbers.slow = 1
    capture.__enter__()
    x.fill(1)
    statuses, barrier = [], threading.Barrier(2)
    native_stream = ctypes.c_void_p()
    def work():
        barrier.wait()
        try:
            capture.__exit__(None, None, None)
            statuses.append(None)
        except cupola.Error as error:
            statuses.append(str(error))
    threads = [threading.Thread(target=work) for _ in range(2)]
    def end_both():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    end_both()
    assert library.cupola_captures() == 0
    assert not stream.capturing
    numbers.slow = 0
    # And all goes on: what is freed is given back, and another capture begins.
    del x
    y = cupola.zeros(8, np.int32)
    cupola.Device().synchronize()
    print(statuses)
    """
    said = failing(code).stdout
    assert "this stream has no capture to end" in said


def test_a_pipeline_whose_end_fails_is_over_for_all(failing):
    code = """
    from cupola.pipelines import Pipeline
    host = np.zeros(64, np.int32)
    pipeline = Pipeline((host,), (0,), (), 16)
    pipeline.add_slot(cupola.Stream(), (None,))
    numbers.contexts_left = 0
    try:
        pipeline.finish(True)
    except cupola.DriverError as error:
        assert "cuCtxGetCurrent" in str(error), error
    else:
        raise SystemExit("it ended well")
    numbers.contexts_left = 1 << 30
    thread = threading.Thread(target=pipeline.finish, args=(False,), daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive(), "the second waits for the first"
    """
    failing(code)


def test_a_pipeline_ends_after_the_step_that_another_thread_is_in(failing):
    code = """
    from cupola.pipelines import Pipeline
    host = np.arange(64, dtype=np.int32)
    pipeline = Pipeline((host,), (0,), (), 16)
    pipeline.add_slot(cupola.Stream(), (None,))
    slot = pipeline.slots[0]
    entered, leave, errors = threading.Event(), threading.Event(), []
    def function(chunk, stream, inputs, outputs):
        entered.set()
        leave.wait(60)
    pipeline.set_function(function)
    def work():
        try:
            slot.fill(0), slot.upload(), slot.launch()
            slot.download()
        except cupola.Error as error:
            errors.append(str(error))
    ends = [threading.Thread(target=pipeline.finish, args=(False,)) for _ in range(3)]
    worker = threading.Thread(target=work)
    worker.start()
    entered.wait(60)
    for each in ends:
        each.start()
    ends[0].join(0.2)
    assert all(each.is_alive() for each in ends)
    leave.set()
    for each in (worker, *ends):
        each.join(60)
    assert not any(each.is_alive() for each in (worker, *ends))
    assert "this pipeline has ended" in errors[0], errors
    """
    failing(code)
