// csrc/runtime/graph/graph_exec.cpp - instantiates, launches and updates executable graphs.
#include <algorithm>
#include <optional>

#include "platform/demangle.hpp"
#include "runtime/base/intern.hpp"
#include "runtime/driver/output.hpp"
#include "runtime/graph/graph.hpp"
#include "runtime/launch/may_wait.hpp"
#include "runtime/memory/memory.hpp"
#include "runtime/profile/profile.hpp"

namespace cupola {
namespace {

void check_launch(const Driver& driver, CUresult code) {
    if (code == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        fail_driver(driver, code, "cuGraphLaunch",
                    "the stream is being captured by another library: an instantiated graph "
                    "can only be added to a capture that cupola.Stream.capture began");
    check(driver, code, "cuGraphLaunch");
}

}  // namespace

GraphExec::GraphExec(const Graph& graph) : context(graph.context) {
    ContextScope current(context);
    const RelaxedCapture relaxed(context.driver);
    const Driver& d = context.driver;
    if (!d.cuGraphInstantiateWithFlags)
        fail(CUPOLA_ERROR_NO_DRIVER, "launching graphs needs a driver of CUDA 11.4 or newer");
    const CUresult code = d.cuGraphInstantiateWithFlags(&handle, graph.handle, 0);
    if (code == CUDA_ERROR_INVALID_VALUE)
        fail_driver(context.driver, code, "cuGraphInstantiateWithFlags",
                    "check whether its nodes depend on each other in a cycle");
    check(context.driver, code, "cuGraphInstantiateWithFlags");
    retained_ = graph.retained;  // the sets are shared: none is ever removed from
    calls_ = !retained_.calls.empty();
    CUPOLA_CALL(context.driver, cuGraphGetNodes, graph.handle, nullptr, &nodes_);
    places_ = places_of(context.driver, graph.handle);
    find_kernels(context.driver, graph.handle, kernels_);
    set_display_name();
    copy(graph.handle);
}

// "graph of 3 nodes (kernels axpy, dot x2)"
void GraphExec::set_display_name() {
    constexpr std::size_t most = 8;
    const Driver& d = context.driver;
    std::map<std::string, std::size_t> names;
    for (const auto& [_, function] : kernels_) {
        const char* name = nullptr;
        if (function && d.cuFuncGetName && d.cuFuncGetName(&name, function) == CUDA_SUCCESS && name)
            ++names[cupola::title(name)];
    }
    std::string list;
    std::size_t listed = 0;
    for (const auto& [name, times] : names) {
        if (listed++ == most) {
            list += " and " + std::to_string(names.size() - most) + " more";
            break;
        }
        list += (list.empty() ? "" : ", ") + name;
        if (times > 1) list += " x" + std::to_string(times);
    }
    title_ = intern("graph of " + std::to_string(nodes_) + (nodes_ == 1 ? " node" : " nodes") +
                    (list.empty() ? "" : " (kernels " + list + ")"));
}

void GraphExec::copy(CUgraph graph) {
    const Driver& d = context.driver;
    CUgraph fresh = nullptr;
    if (d.cuGraphClone(&fresh, graph) != CUDA_SUCCESS) {
        fresh = nullptr;
        not_copied_ =
            "the driver can't copy graphs with such nodes, for example those that allocate memory";
    }
    if (copy_) d.cuGraphDestroy(copy_);
    copy_ = fresh;
}

GraphExec::~GraphExec() {
    const Driver* d = context.driver.alive();
    if (!d) return;
    for (const auto& [_, retained] : retained_.by_node) retire(*retained);
    const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
    if (copy_) d->cuGraphDestroy(copy_);
    d->cuGraphExecDestroy(handle);  // launched work still runs to its end
}

// Launches may be in flight: memory is freed in stream order after them.
void GraphExec::retire(RetainedObjects& retained) {
    std::lock_guard<std::mutex> lock(retained.mutex);  // another thread may add an object
    for (const Ref<Object>& object : retained.held)
        if (auto* memory = dynamic_cast<Memory*>(object.get()))
            for (const Ref<Stream>& stream : streams_) memory->use(*stream);
}

void GraphExec::note_stream(Stream& stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    const bool known = std::any_of(streams_.begin(), streams_.end(), [&](const auto& each) {
        return each->handle == stream.handle && &each->context == &stream.context;
    });
    if (!known) streams_.push_back(Ref<Stream>::share(&stream));
    last_.store(&stream, std::memory_order_release);
}

bool GraphExec::launches_without_waiting(Stream& stream) {
    constexpr int few = 16;  // a launch of more nodes costs far more than releasing the lock
    return !calls_.load(std::memory_order_relaxed) && places_ <= few &&
           !queue_may_wait(stream, places_);
}

void GraphExec::launch(Stream& stream) {
    require_same_driver(stream.context, "the stream", context, "the graph");
    std::optional<ContextScope> current;
    if (stream.needs_current()) current.emplace(stream.context);
    // The noted streams are kept alive, so an equal address means the same stream.
    if (__builtin_expect(last_.load(std::memory_order_acquire) != &stream, 0)) note_stream(stream);
    const Driver& driver = context.driver;
    if (__builtin_expect(calls_.load(std::memory_order_relaxed) || any_capture() ||
                             driver.instrumented.load(std::memory_order_relaxed),
                         0))
        launch_otherwise(stream);
    else
        check_launch(driver, driver.cuGraphLaunch(handle, stream.handle));
    stream.flight.add(title_.load(std::memory_order_relaxed));
    if (__builtin_expect(driver.synchronous, 0) && !stream.flight.capturing()) synchronize(stream);
}

// The caller holds the lock.
void GraphExec::require_contents(const Stream& stream) const {
    Capture::require_usable(stream);
    for (const auto& [_, retained] : retained_.by_node) {
        std::lock_guard<std::mutex> lock(retained->mutex);
        for (const Ref<Object>& object : retained->held)
            if (const auto* used = dynamic_cast<const RetainedObject*>(object.get()))
                Capture::require_contents(stream, {used->number()});
    }
}

void GraphExec::launch_otherwise(Stream& stream) {
    if (context.driver->debug())
        log(std::string("launch ") + title_.load() + ", stream " +
            hex(reinterpret_cast<std::uintptr_t>(stream.handle)));
    if (context.driver->instrumented.load(std::memory_order_relaxed) & Driver::prints)
        Output::before_launch();
    const Span span(CUPOLA_PROFILE_GRAPH, title_.load(std::memory_order_relaxed), &stream);
    if (const auto capture = Capture::of(stream)) {  // add a child node to the captured graph
        RetainedByNode all;
        std::lock_guard<std::mutex> own(mutex_);
        if (!copy_)
            fail(CUPOLA_ERROR_VALUE,
                 std::string("this graph can't be added to the captured graph: ") + not_copied_);
        Capture::add_child(stream, copy_);
        all.add(retained_);
        std::lock_guard<std::mutex> lock(capture->retained->mutex);
        for (auto& object : all.at(nullptr).held) capture->retained->held.push_back(object);
        for (auto& call : all.calls) capture->calls.push_back(call);
        return;
    }
    std::vector<Ref<Callback>> expected;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (any_capture()) require_contents(stream);
        expected = retained_.calls;
    }
    for (auto& call : expected) call->expect();
    const CUresult code = context.driver->cuGraphLaunch(handle, stream.handle);
    if (code == CUDA_SUCCESS) return;
    for (auto& call : expected) call->give_up();
    check_launch(context.driver, code);
}

void GraphExec::set_kernel(CUgraphNode node, Kernel& kernel, const cupola_dimensions& dimensions,
                           const void* buffer, Ref<Object> owner) {
    require_same_driver(kernel.context, "the kernel", context, "the graph");
    ContextScope current(context);
    std::vector<void*> pointers;
    const auto given = kernel_parameters(kernel, dimensions, buffer, pointers);
    RetainedByNode fresh;
    fresh.hold(node, Ref<Object>::share(&kernel));
    if (owner) fresh.hold(node, std::move(owner));
    fresh.hold_used(node, kernel, buffer);
    std::shared_ptr<RetainedObjects> old;  // released after the lock
    std::lock_guard<std::mutex> lock(mutex_);
    const CUresult code = context.driver->cuGraphExecKernelNodeSetParams(
        handle, node, reinterpret_cast<const CUDA_KERNEL_NODE_PARAMS_v1*>(&given));
    if (code == CUDA_ERROR_INVALID_VALUE)
        fail_driver(context.driver, code, "cuGraphExecKernelNodeSetParams",
                    "the node must be a kernel node of the graph that this was instantiated from");
    check(context.driver, code, "cuGraphExecKernelNodeSetParams");
    CUgraphNode twin = nullptr;
    if (copy_ &&
        (context.driver->cuGraphNodeFindInClone(&twin, node, copy_) != CUDA_SUCCESS ||
         context.driver->cuGraphKernelNodeSetParams(
             twin, reinterpret_cast<const CUDA_KERNEL_NODE_PARAMS_v1*>(&given)) != CUDA_SUCCESS)) {
        context.driver->cuGraphDestroy(std::exchange(copy_, nullptr));
        not_copied_ =
            "a node of a child graph was updated, or one that is not of the graph used for the "
            "last "
            "whole update";
    }
    if (CUfunction& function = kernels_[node]; function != given.func) {
        function = given.func;
        set_display_name();
    }
    old = std::move(retained_.by_node[node]);
    if (old) retire(*old);
    retained_.by_node[node] = fresh.by_node[node];
}

void GraphExec::update(const Graph& graph) {
    require_same_driver(graph.context, "the new graph", context, "the graph");
    ContextScope current(context);
    RetainedByNode old;  // released after the lock
    std::lock_guard<std::mutex> lock(mutex_);
    std::size_t count = 0;
    CUPOLA_CALL(context.driver, cuGraphGetNodes, graph.handle, nullptr, &count);
    CUgraphNode node = nullptr;
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    const CUresult code = context.driver->cuGraphExecUpdate(handle, graph.handle, &node, &result);
    if (code == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
        fail_driver(context.driver, code, "cuGraphExecUpdate",
                    // Not every driver reports a changed number of nodes as a changed topology.
                    result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED || count != nodes_
                        ? "the graphs differ in their nodes or edges: instantiate the new one"
                    : result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED
                        ? "a node has another type: instantiate the new graph"
                        : "a node's change is not supported: instantiate the new graph");
    check(context.driver, code, "cuGraphExecUpdate");
    for (const auto& [_, retained] : retained_.by_node) retire(*retained);
    old = std::exchange(retained_, graph.retained);
    copy(graph.handle);
    calls_ = !retained_.calls.empty();
    kernels_.clear();
    find_kernels(context.driver, graph.handle, kernels_);
    set_display_name();
}

}  // namespace cupola
