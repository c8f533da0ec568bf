"""Faults are traced to the launches in flight; CUPOLA_SYNC, CUPOLA_TRACEBACK and CUPOLA_LOG."""

import pytest
from test_driver import good, run

# A kernel of its own image that writes to an address outside every allocation.
PROGRAM = '''
import cupola
import numpy as np

module = cupola.load(b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry wrecker(.param .u64 out) {
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, 7;
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry bystander(.param .u64 out) { ret; }
""")
bad = 0x10
good = cupola.zeros(4, np.int32)


def fault():
    """The text of the error."""
    try:
        yield
    except cupola.DriverError as error:
        print(error)
    else:
        raise SystemExit("no fault was told")


from contextlib import contextmanager
fault = contextmanager(fault)
'''
LOST = "the driver refuses all further work"


def told(code, **variables):
    # The caller checks the text. The way the process ends is part of the contract.
    answer = good(PROGRAM + code, **variables)
    assert answer.stderr == "", answer.stderr
    return answer.stdout


def test_a_fault_names_the_launches_in_flight(driver):
    text = told(
        """
stream = cupola.Stream()
module["bystander"][3, 32](good)
cupola.Device().synchronize()
module["bystander"][7, 64, stream](good)
module["wrecker"][(2, 3), (4, 5, 6), stream](bad)
with fault():
    cupola.Device().synchronize()
""",
        CUPOLA_DRIVER=driver,
    )
    assert "ILLEGAL_ADDRESS" in text
    assert "wrecker, grid (2, 3, 1), block (4, 5, 6)" in text
    assert "bystander, grid (7, 1, 1), block (64, 1, 1)" in text
    assert "bystander, grid (3, 1, 1)" not in text  # the stream was waited for
    assert LOST in text


def test_launches_of_released_streams_are_named(driver):
    text = told(
        """
with cupola.Stream() as stream:
    module["wrecker"][1, 1](bad)
del stream
with fault():
    good.get()
    cupola.Device().synchronize()
""",
        CUPOLA_DRIVER=driver,
    )
    assert "wrecker, grid (1, 1, 1), block (1, 1, 1)" in text


def test_many_launches_are_counted(driver):
    text = told(
        """
stream = cupola.Stream()
with stream:
    module["wrecker"][1, 1](bad)
    try:
        for _ in range(100):
            module["bystander"][1, 1](good)
    except cupola.DriverError as error:
        print("early")
        print(error)
    else:
        with fault():
            stream.synchronize()
""",
        CUPOLA_DRIVER=driver,
    )
    # A fault may be told by one of the launches behind it; else by the one who waits.
    counted = "69 launches before these" in text and "block (1, 1, 1), 32 times" in text
    assert "early" in text or counted


def test_the_line_of_the_program(driver):
    text = told(
        """
kernel = module["wrecker"]
prepared = kernel.prepare(1, 1, bad)
kernel[1, 1](good)
cupola.Device().synchronize()
line = __import__("sys")._getframe().f_lineno + 1
prepared()
print("line", line)
with fault():
    cupola.Device().synchronize()
""",
        CUPOLA_DRIVER=driver,
        CUPOLA_TRACEBACK=1,
    )
    line = text.split()[1]
    assert f"wrecker, grid (1, 1, 1), block (1, 1, 1), launched at <string>:{line}" in text


def test_without_it_no_line_is_kept(driver):
    text = told(
        """
module["wrecker"][1, 1](bad)
with fault():
    cupola.Device().synchronize()
""",
        CUPOLA_DRIVER=driver,
    )
    assert "launched at" not in text


def test_sync_tells_of_a_fault_at_its_launch(driver):
    text = told(
        """
module["bystander"][1, 1](good)
with fault():
    module["wrecker"][5, 6](bad)
""",
        CUPOLA_DRIVER=driver,
        CUPOLA_SYNC=1,
    )
    assert "wrecker, grid (5, 1, 1), block (6, 1, 1)" in text
    assert "bystander" not in text


def test_the_host_goes_on_after_a_fault(driver):
    text = told(
        """
stream, event = cupola.Stream(), cupola.Event()
kept = [good, module, stream, event, module["bystander"].prepare(1, 1, good)]
module["wrecker"][1, 1](bad)
for _ in range(3):
    with fault():
        cupola.zeros(10).get()
print(len(kept), len(repr(good)) > 0, good.shape, module["wrecker"].params[0].kind)
""",
        CUPOLA_DRIVER=driver,
    )
    assert text.count(LOST) == 1
    assert "(4,)" in text and "pointer" in text.splitlines()[-1]


GRAPH = """
stream = cupola.Stream()
with stream.capture() as graph:
    module["bystander"][3, 32](good)
    module["bystander"][3, 32](good)
    module["wrecker"][(2, 3), 4](bad)
run = graph.instantiate()
"""


def test_a_fault_names_the_launch_of_a_graph(driver):
    text = told(
        GRAPH
        + """
module["bystander"][5, 32](good)
line = __import__("sys")._getframe().f_lineno + 1
run(stream=stream)
print("line", line)
with fault():
    stream.synchronize()
""",
        CUPOLA_DRIVER=driver,
        CUPOLA_TRACEBACK=1,
    )
    line = text.split()[1]
    name = "graph of 3 nodes (kernels bystander x2, wrecker)"
    assert f"{name}, launched at <string>:{line}" in text
    assert "bystander, grid (3, 1, 1)" not in text  # it was captured; only the graph was launched
    assert "bystander, grid (5, 1, 1)" in text
    assert LOST in text


def test_a_graph_that_was_updated_is_named_by_what_it_does(driver):
    text = told(
        """
inner, graph = cupola.Graph(), cupola.Graph()
inner.add_kernel(module["bystander"], 1, 1, good)
child = graph.add_child(inner)
node = graph.add_kernel(module["bystander"], 1, 1, good, after=child)
run = graph.instantiate()
run.update(node, bad, kernel=module["wrecker"])
run()
with fault():
    cupola.Device().synchronize()
""",
        CUPOLA_DRIVER=driver,
    )
    assert "graph of 2 nodes (kernels bystander, wrecker)\n" in text
    assert "launched at" not in text


def test_sync_tells_of_a_fault_at_the_launch_of_its_graph(driver):
    text = told(
        GRAPH
        + """
with stream.capture() as around:  # a capture launches nothing
    run(stream=stream)
with fault():
    run(stream=stream)
""",
        CUPOLA_DRIVER=driver,
        CUPOLA_SYNC=1,
    )
    assert "ILLEGAL_ADDRESS" in text and text.count("graph of 3 nodes") == 1


LOGGED = """
import numpy as np
stream = cupola.Stream()
name = hex(stream.handle)
host = np.arange(1000, dtype=np.float32)
with stream:
    array = cupola.to_device(host)
    pinned = cupola.empty_pinned(1000, np.float32)
    array.get(out=pinned)
    other = cupola.empty((10, 100), np.float64)
    other.fill(1.5)
    other[:, :70].copy()
    managed = cupola.managed(12, np.uint8)
    shared = cupola.alloc(77, exportable=True)
    registered = cupola.register_host(host)
    stream.synchronize()
with stream.capture() as graph:
    module["bystander"][3, 32](good)
graph.instantiate()(stream)
place, managed_place = hex(array.address), hex(managed.address)
stream.synchronize()
array.free()
managed.free()
registered.release()
cupola.Device().pool.trim(12345)
print(name, place, managed_place)
"""


def test_log_of_memory_copies_and_graphs(driver):
    answer = good(PROGRAM + LOGGED, CUPOLA_DRIVER=driver, CUPOLA_LOG="debug")
    stream, place, managed = answer.stdout.split()
    lines = answer.stderr.splitlines()
    assert all(line.startswith("cupola: ") for line in lines)

    def logged(*words):
        return [line for line in lines if all(word in line for word in words)]

    assert logged("allocate 4000 bytes", "device 0", f"at {place}")
    assert logged("free 4000 bytes", f"at {place}")
    assert logged("allocate 12 bytes, managed", f"at {managed}")
    assert logged("free 12 bytes, managed", f"at {managed}")
    assert logged("allocate 4000 bytes, page-locked") and logged("allocate 77 bytes, exportable")
    assert logged("allocate 4000 bytes, registered") and logged("free 4000 bytes, registered")
    assert logged("copy 4000 bytes to the device", f"to {place}", f"stream {stream}")
    assert logged("copy 4000 bytes to the host", f"from {place}", f"stream {stream}")
    assert logged("copy 5600 bytes on the device in rows of 560", f"stream {stream}")
    assert logged("fill", f"stream {stream}")
    assert logged("launch graph of 1 node (kernels bystander)", f"stream {stream}")
    assert logged("trim the pool of device 0 to 12345 bytes")
    info = good(PROGRAM + LOGGED, CUPOLA_DRIVER=driver, CUPOLA_LOG="info").stderr
    verbs = ("copy", "allocate", "free", "fill", "launch", "trim")
    assert not [line for line in info.splitlines() if line.split()[1] in verbs]


def test_log_of_launches(driver):
    answer = good(
        PROGRAM + 'module["bystander"][3, 32](good)\ncupola.Device().synchronize()',
        CUPOLA_DRIVER=driver,
        CUPOLA_LOG="debug",
    )
    lines = answer.stderr.splitlines()
    assert all(line.startswith("cupola: ") for line in lines)
    assert "driver" in lines[0] and "libcuda" in lines[0]
    assert any("launch bystander, grid (3, 1, 1), block (32, 1, 1)" in line for line in lines)
    quiet = good(
        PROGRAM + 'module["bystander"][3, 32](good)', CUPOLA_DRIVER=driver, CUPOLA_LOG="info"
    )
    assert "driver" in quiet.stderr and "bystander" not in quiet.stderr


@pytest.mark.parametrize(
    "name, value, what",
    [
        ("CUPOLA_LOG", "loud", "debug"),
        ("CUPOLA_SYNC", "yes", "0 or 1"),
        ("CUPOLA_TRACEBACK", "2", "0 or 1"),
    ],
)
def test_wrong_settings_are_errors(driver, name, value, what):
    answer = run(PROGRAM, CUPOLA_DRIVER=driver, **{name: value})
    assert answer.returncode == 1
    last = answer.stderr.strip().splitlines()[-1]
    assert name in last and value in last and what in last
