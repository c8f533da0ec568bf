"""Objects of two drivers that can't be used with each other, and captures beside another driver."""

import pytest
from beside import both, other_driver


@pytest.fixture(scope="module")
def other(driver, tmp_path_factory):
    return other_driver(driver, tmp_path_factory.mktemp("driver"))


ERRORS = {
    "kernel[1, 32](2.0, mine, theirs, mine, 10)": (
        r"argument 2 \(y\).*cupola.Array on device 0; the kernel is loaded on the CPU device"
    ),
    "kernel[1, 32](2.0, mine, cupola.alloc(40), mine, 10)": (
        r"argument 2 \(y\).*cupola.Memory on device 0; the kernel is loaded on the CPU device"
    ),
    "other[1, 32](2.0, theirs, mine, theirs, 10)": (
        r"argument 2 \(y\).*cupola.Array on the CPU device; the kernel is loaded on device 0"
    ),
    "kernel[1, 32, cupola.Stream()](2.0, mine, mine, mine, 10)": (
        r"the stream is of device 0; the work for it is of the CPU device"
    ),
    "mine + theirs": r"the operands are on the CPU device and device 0",
    "np.add(mine, mine, out=theirs)": r"out is on device 0, the operands are on the CPU device",
    "mine.sum(out=cupola.zeros((), np.float32))": r"out is on device 0, the array is on the CPU",
    "cpu.enable_peer_access(main)": r"the CPU device can't access the memory of device 0: their dr",
    "main.disable_peer_access(cpu)": r"device 0 can't access the memory of the CPU device: their d",
    "event.elapsed_since(cupola.Stream().record())": r"no time can be measured between an event of",
    "cupola.Event(device=0).record(cupola.Stream(device=cpu))": r"the stream is of the CPU device;",
    "cupola.from_dlpack(theirs, device=cpu)": r"lies on device 0, device= names the CPU device",
    "kernel[1, 32](2.0, mine, pinned, mine, 10)": (
        r"argument 2 \(y\).*cupola.Memory on device 0; the kernel is loaded on the CPU device"
    ),
    "graph.add_copy(mine, theirs)": r"the source is on device 0, the graph is of the CPU device",
    "graph.add_fill(theirs, 0)": r"the target is on device 0, the graph is of the CPU device",
    "graph.add_kernel(other, 1, 32, 2.0, theirs, theirs, theirs, 10)": (
        r"the kernel is loaded on device 0, the graph is of the CPU device"
    ),
    "graph.add_child(cupola.Graph())": r"the child graph is of device 0, the graph is of the CPU",
    "graph.instantiate().update(cupola.Graph())": r"the new graph is of device 0, the graph is of",
    "graph.instantiate().launch(cupola.Stream())": r"the stream is of device 0, the graph is",
    "cupola.managed(8, device=cpu).prefetch(main)": r"the place is of device 0, the memory is of",
    "cupola.Device('gpu')": r"by its index, as 'cpu' or as a cupola.Device, got 'gpu'",
    "cupola.Device(65)": r"there is no device 65",
}
NOT_ON_A_COPY = "cupola.from_dlpack(theirs, device=cpu)"  # its memory is host memory, too


@pytest.mark.parametrize("code", ERRORS)
def test_errors(code, other, driver):
    if driver == "cpu" and code == NOT_ON_A_COPY:
        code, text = "cupola.Device(65)", ERRORS["cupola.Device(65)"]
    else:
        text = ERRORS[code]
    both(
        f"""
        import re
        kernel, other = (cupola.shipped_kernels(d)["saxpy"] for d in (cpu, main))
        mine, theirs = (cupola.ones(10, np.float32, device=d) for d in (cpu, main))
        event, graph = cupola.Stream(device=cpu).record(), cupola.Graph(device=cpu)
        pinned = cupola.register_host(np.ones(10, np.float32), device=main)
        assert not hasattr(mine, "__cuda_array_interface__")
        assert not cpu.can_access(main) and not main.can_access(cpu)
        try:
            {code}
        except cupola.Error as error:
            assert re.search({text!r}, str(error)), error
        else:
            raise AssertionError("no error")
        assert (mine.get() == 1).all() and (theirs.get() == 1).all()
        """,
        other,
    )


def test_captures_have_nodes_of_one_driver(other):
    both(
        """
        mine, theirs = (cupola.ones(10, np.float32, device=d) for d in (cpu, main))
        event = cupola.Stream(device=cpu).record()
        streams = [cupola.Stream(device=d) for d in (cpu, main)]
        refused = []
        with streams[1].capture() as graph:
            for call in (
                lambda: theirs.set(mine),
                lambda: mine.set(theirs),
                lambda: streams[1].wait(event),
            ):
                try:
                    call()
                except cupola.Error as error:
                    refused.append(str(error))
            theirs.fill(4)
            (mine + 1).get()  # the other driver's work goes on
        assert len(refused) == 3 and all("nodes of one driver" in text for text in refused), refused
        # Two captures, whose drivers may give them the same number.
        with streams[0].capture() as first:
            mine.fill(2)
            with streams[1].capture() as second:
                theirs.fill(3)
        first.instantiate().launch(streams[0])
        second.instantiate().launch(streams[1])
        for stream in streams:
            stream.synchronize()
        assert (mine.get() == 2).all() and (theirs.get() == 3).all()
        try:
            second.instantiate().launch(streams[0])
        except cupola.Error as error:
            assert "the stream is of the CPU device" in str(error)
        """,
        other,
    )
