"""Every function that the driver defines has a test: by its name, or by the rules of its form."""

import ctypes
import pathlib
import re
import struct
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

from .graphs import FillParams, Graph, HostParams, kernel_params, line

TESTS = pathlib.Path(__file__).parents[1]
SOURCE = "".join(
    path.read_text() for path in sorted((TESTS.parent / "csrc" / "cpu" / "api").glob("*.cpp"))
)
DEFINED = dict(re.findall(r"CUPOLA_API\s+CUresult\s+(cu[A-Z]\w*)\(([^)]*)\)", SOURCE))
ALIASES = dict(re.findall(r"CUPOLA_ALIAS\((cu\w+),\s*(cu\w+)\)", SOURCE))
PER_THREAD_FORMS = [name for name in DEFINED if name.endswith(("_ptsz", "_ptds"))]


def named():
    """Names of functions in the tests. A formatted string stands for all names that match it."""
    words, forms = set(), set()
    for path in TESTS.rglob("*"):
        if path.suffix in (".py", ".cu", ".cpp", ".c"):
            text = path.read_text()
            words |= set(re.findall(r"\bcu[A-Z]\w*", text))
            forms |= set(re.findall(r'f"(cu[A-Z]\w*(?:\{[^}"]*\}\w*)+)"', text))
    patterns = [re.sub(r"\\\{.*?\\\}", r"\\w*", re.escape(form)) for form in forms]
    return words, re.compile("|".join(patterns))


def test_every_function_is_named_by_a_test():
    words, composed = named()
    plain = set(DEFINED) - set(PER_THREAD_FORMS)
    assert len(plain) > 400
    unnamed = {name for name in plain if name not in words and not composed.fullmatch(name)}
    assert unnamed == set()


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_is_its_function(cuda, own, alias):
    first, second = (
        ctypes.cast(getattr(cuda.library, name), c_void_p).value for name in (alias, ALIASES[alias])
    )
    assert first == second is not None


def test_per_thread_forms_equal_the_plain_functions(cuda, own):
    """With null for all arguments but the stream, both are refused or both succeed."""
    assert len(PER_THREAD_FORMS) > 80
    wrong = []
    for name in PER_THREAD_FORMS:
        parameters = [each.split() for each in DEFINED[name].split(",")]
        nothing = [0] * len(parameters)
        stream = [PER_THREAD if each[0] == "CUstream" else 0 for each in parameters]
        codes = []
        for function, arguments in ((name[:-5], stream), (name, nothing)):
            codes.append(cuda.code(function, *arguments))
            cuda.code("cuStreamEndCapture", PER_THREAD, None)
        if codes[0] != codes[1]:
            wrong.append((name, codes))
    assert wrong == []


# ---- what no other test calls -----------------------------------------------------------------


@pytest.fixture
def graph(cuda, kernel):
    made = Graph(cuda, kernel)
    yield made
    cuda.cuCtxSynchronize()
    cuda.cuGraphDestroy(made.handle)


def run(cuda, ready):
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuCtxSynchronize()


def test_edges_are_added_by_the_second_forms(cuda, graph):
    first, second = (graph.node("cuGraphAddEmptyNode") for _ in range(2))
    ends = (c_void_p * 1)(first), (c_void_p * 1)(second)
    data, count, found = (c_uint64 * 1)(0), c_size_t(4), (c_void_p * 4)()
    cuda.cuGraphAddDependencies_v2(graph.handle, *ends, data, 1)
    for name, node, other in (
        ("cuGraphNodeGetDependencies_v2", second, first),
        ("cuGraphNodeGetDependentNodes_v2", first, second),
    ):
        count.value, told = 4, (c_uint64 * 4)(*[7] * 4)
        getattr(cuda, name)(node, found, told, byref(count))
        assert (count.value, found[0], told[0]) == (1, other, 0)
    cuda.cuGraphRemoveDependencies_v2(graph.handle, *ends, data, 1)
    assert graph.edges() == set()


def test_kernel_nodes_are_added_by_the_first_forms(cuda, kernel, graph, memory):
    """Their structure ends before the kernel and the context of the second form."""
    given, node = kernel_params(kernel("add1"), 1, 8, c_uint64(memory)), c_void_p()
    cuda.cuGraphAddKernelNode(byref(node), graph.handle, None, 0, byref(given))
    told = kernel_params(0, 0, 0)
    cuda.cuGraphKernelNodeGetParams(node, byref(told))
    assert (told.func, told.bx) == (kernel("add1"), 8)
    given.bx = 16
    cuda.cuGraphKernelNodeSetParams(node, byref(given))
    ready, error = c_void_p(), c_void_p()
    cuda.cuGraphInstantiate_v2(byref(ready), graph.handle, byref(error), None, 0)
    run(cuda, ready)
    given.bx = 32
    cuda.cuGraphExecKernelNodeSetParams(ready, node, byref(given))
    run(cuda, ready)
    assert cuda.read(memory, 33) == [2] * 16 + [1] * 16 + [0]
    given.bx = 4
    cuda.cuGraphKernelNodeSetParams(node, byref(given))
    result = c_int(-1)
    cuda.cuGraphExecUpdate(ready, graph.handle, byref(error), byref(result))
    run(cuda, ready)
    assert result.value == 0 and cuda.read(memory, 5) == [3] * 4 + [2]
    cuda.cuGraphExecDestroy(ready)


def test_nodes_are_changed(cuda, graph, memory):
    called = []
    fill, copy = graph.fill(memory, 1, 8), graph.copy(memory + 128, memory, 32)
    host = graph.host(called.append, 5)
    given = FillParams(memory, 0, 6, 4, 4, 1)
    cuda.cuGraphMemsetNodeSetParams(fill, byref(given))
    again = line(memory + 128, memory, 8)
    cuda.cuGraphMemcpyNodeSetParams(copy, byref(again))
    told = HostParams()
    cuda.cuGraphHostNodeGetParams(host, byref(told))
    assert told.data == 5
    told.data = 9
    cuda.cuGraphHostNodeSetParams(host, byref(told))
    cuda.cuGraphAddDependencies(graph.handle, (c_void_p * 1)(fill), (c_void_p * 1)(copy), 1)
    ready = graph.instantiate()
    run(cuda, ready)
    assert called == [9]
    assert cuda.read(memory, 5) == [6] * 4 + [0] and cuda.read(memory + 128, 3) == [6, 6, 0]
    cuda.cuGraphExecDestroy(ready)


@pytest.mark.parametrize("kind", ["Record", "Wait"])
def test_nodes_have_events(cuda, graph, events, kind):
    first, second, third = (events(2) for _ in range(3))
    node = graph.node(f"cuGraphAddEvent{kind}Node", first)
    names = {
        "Record": ("cuGraphEventRecordNodeGetEvent", "cuGraphEventRecordNodeSetEvent"),
        "Wait": ("cuGraphEventWaitNodeGetEvent", "cuGraphEventWaitNodeSetEvent"),
    }
    of_ready = {
        "Record": "cuGraphExecEventRecordNodeSetEvent",
        "Wait": "cuGraphExecEventWaitNodeSetEvent",
    }
    get, put = names[kind]
    told = c_void_p()
    for event in (first, second):
        getattr(cuda, put)(node, event)
        getattr(cuda, get)(node, byref(told))
        assert told.value == event
    ready = graph.instantiate()
    getattr(cuda, of_ready[kind])(ready, node, third)
    held, stream = cuda.pinned(64), cuda.stream(NON_BLOCKING)
    cuda.cuStreamWaitValue32_v2(stream, held, 1, 1)
    if kind == "Record":  # the third event is what the graph records behind the stream's work
        cuda.cuGraphLaunch(ready, stream)
        assert cuda.code("cuEventQuery", third) == NOT_READY
        assert cuda.code("cuEventQuery", second) == SUCCESS
    else:
        cuda.cuEventRecord(third, stream)
        other = cuda.stream(NON_BLOCKING)
        cuda.cuGraphLaunch(ready, other)
        assert cuda.code("cuStreamQuery", other) == NOT_READY
    word(held).value = 1
    cuda.cuCtxSynchronize()
    cuda.cuGraphExecDestroy(ready)
    cuda.cuMemFreeHost(c_void_p(held))


def test_a_node_is_added_by_the_first_form(cuda, graph, memory):
    from .node_params import params

    given, node, kind = params(5), c_void_p(), c_int()
    cuda.cuGraphAddNode(byref(node), graph.handle, None, 0, byref(given))
    cuda.cuGraphNodeGetType(node, byref(kind))
    assert kind.value == 5


def test_the_old_launch_functions_launch(cuda, kernel, memory):
    add = kernel("add1")
    cuda.cuFuncSetBlockShape(add, 8, 1, 1)
    cuda.cuFuncSetSharedSize(add, 64)
    cuda.cuParamSetSize(add, 8)
    cuda.cuParamSetv(add, 0, byref(c_uint64(memory)), 8)
    cuda.cuLaunch(add)
    cuda.cuLaunchGridAsync(add, 2, 1, PER_THREAD)
    cuda.cuCtxSynchronize()
    assert cuda.read(memory, 17) == [2] * 8 + [1] * 8 + [0]


def test_an_old_argument_may_be_a_number(cuda, kernel, memory):
    store, call = kernel("store"), cuda.library.cuParamSetf
    cuda.cuFuncSetBlockShape(store, 1, 1, 1)
    cuda.cuParamSetSize(store, 12)
    cuda.cuParamSetv(store, 0, byref(c_uint64(memory)), 8)
    assert call(c_void_p(store), 8, c_float(1.5)) == SUCCESS
    cuda.cuLaunch(store)
    assert cuda.read(memory, 1, c_float) == [1.5]


def test_copies_between_devices_in_a_stream(cuda, memory):
    context = c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    cuda.cuMemsetD32_v2(memory, 3, 8)
    cuda.cuMemcpyPeerAsync(memory + 128, context, memory, context, 32, 0)
    cuda.cuCtxSynchronize_v2(context)
    assert cuda.read(memory + 128, 9) == [3] * 8 + [0]


def test_other_calls_load_images(cuda):
    module, state, image, size = c_void_p(), c_void_p(), c_void_p(), c_size_t()
    cuda.cuModuleLoadFatBinary(byref(module), PTX)
    assert cuda.function(module.value, "add1")
    cuda.cuModuleUnload(module)
    cuda.cuLinkCreate_v2(0, None, None, byref(state))
    cuda.cuLinkAddData(state, 1, PTX, len(PTX), b"text", 0, None, None)
    cuda.cuLinkComplete(state, byref(image), byref(size))
    assert size.value > 1000
    cuda.cuLinkDestroy(state)


def test_preferences_and_profilers(cuda, kernel):
    cuda.cuProfilerStart()
    cuda.cuProfilerStop()
    cuda.cuCtxResetPersistingL2Cache()
    library, of_library = c_void_p(), c_void_p()
    cuda.cuLibraryLoadData(byref(library), PTX, None, None, 0, None, None, 0)
    cuda.cuLibraryGetKernel(byref(of_library), library, b"add1")
    cuda.cuKernelSetCacheConfig(of_library, 1, 0)
    assert cuda.code("cuKernelSetCacheConfig", of_library, 9, 0) == INVALID_VALUE
    cuda.cuLibraryUnload(library)


def test_properties_are_attributes(cuda):
    found, value = (c_int * 17)(), c_int()
    cuda.cuDeviceGetProperties(found, 0)
    # threads of a block, its three axes, the grid's three, shared, constant, warp, pitch, registers
    for place, attribute in enumerate((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)):
        cuda.cuDeviceGetAttribute(byref(value), attribute, 0)
        assert found[place] == value.value, attribute


def test_flags_do_not_change_the_best_block(cuda, kernel):
    """Caching is always allowed, so the flags have no effect."""
    plain, flagged = ((c_int(), c_int()) for _ in range(2))
    name = "cuOccupancyMaxPotentialBlockSize"
    getattr(cuda, name)(byref(plain[0]), byref(plain[1]), kernel("add1"), None, 0, 0)
    cuda.cuOccupancyMaxPotentialBlockSizeWithFlags(
        byref(flagged[0]), byref(flagged[1]), kernel("add1"), None, 0, 0, 1
    )
    assert [v.value for v in plain] == [v.value for v in flagged]


def test_capture_info_is_returned_by_the_first_form(cuda):
    stream, state, number = cuda.stream(NON_BLOCKING), c_int(-1), c_uint64()
    first_form = "cuStreamGetCaptureInfo"
    getattr(cuda, first_form)(stream, byref(state), byref(number))
    assert state.value == 0
    cuda.cuStreamBeginCapture_v2(stream, 2)
    getattr(cuda, first_form)(stream, byref(state), byref(number))
    assert state.value == 1 and number.value
    cuda.cuStreamEndCapture(stream, None)
    cuda.cuStreamDestroy_v2(stream)


def test_the_address_of_a_tensor_map_is_replaced(cuda, memory):
    """Only the address changes, and it has to be aligned."""
    room = ctypes.create_string_buffer(128 + 64)
    there = (ctypes.addressof(room) + 63) & ~63
    sizes, ones = (c_uint64 * 2)(16, 4), (c_uint * 2)(1, 1)
    code = cuda.library.cuTensorMapEncodeTiled(
        c_void_p(there), c_int(0), c_uint(2), c_void_p(memory), sizes, (c_uint64 * 1)(16),
        (c_uint * 2)(16, 4), ones, c_int(0), c_int(0), c_int(0), c_int(0),
    )  # fmt: skip
    assert code == SUCCESS
    before = ctypes.string_at(there, 128)
    cuda.cuTensorMapReplaceAddress(there, memory + 64)
    assert ctypes.string_at(there, 128) != before
    cuda.cuTensorMapReplaceAddress(there, memory)
    assert ctypes.string_at(there, 128) == before
    assert cuda.code("cuTensorMapReplaceAddress", there, memory + 4) == INVALID_VALUE


def test_a_box_between_devices_in_a_stream(cuda, memory):
    context, box = c_void_p(), line(memory + 128, memory, 32)
    cuda.cuCtxGetCurrent(byref(context))
    box.srcReserved = box.dstReserved = context.value
    cuda.cuMemsetD32_v2(memory, 4, 8)
    cuda.cuMemcpy3DPeerAsync(byref(box), 0)
    cuda.cuCtxSynchronize()
    assert cuda.read(memory + 128, 9) == [4] * 8 + [0]


def test_a_batch_is_copied_by_the_first_form(cuda, memory):
    """The call returns the index of a refused copy."""
    stream, failed = cuda.stream(NON_BLOCKING), c_size_t(7)
    cuda.cuMemsetD32_v2(memory, 5, 8)
    cuda.cuCtxSynchronize()
    to, source = (c_uint64 * 2)(memory + 64, memory + 128), (c_uint64 * 2)(memory, memory)
    attributes = ctypes.create_string_buffer(struct.pack("iiiiiI", 1, 0, 0, 0, 0, 0), 24)
    rest = attributes, (c_size_t * 1)(0), 1, byref(failed), stream
    cuda.cuMemcpyBatchAsync(to, source, (c_size_t * 2)(16, 16), 2, *rest)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(memory + 64, 4) == cuda.read(memory + 128, 4) == [5] * 4
    sizes = (c_size_t * 2)(16, 0)
    assert cuda.code("cuMemcpyBatchAsync", to, source, sizes, 2, *rest) == INVALID_VALUE
    assert failed.value == 1
    cuda.cuStreamDestroy_v2(stream)


def test_a_file_is_linked_by_the_first_form(cuda, tmp_path):
    state, image, size, path = c_void_p(), c_void_p(), c_size_t(), tmp_path / "text.ptx"
    path.write_bytes(PTX)
    cuda.cuLinkCreate_v2(0, None, None, byref(state))
    cuda.cuLinkAddFile(state, 1, bytes(path), 0, None, None)
    cuda.cuLinkComplete(state, byref(image), byref(size))
    assert size.value > 1000
    cuda.cuLinkDestroy(state)
