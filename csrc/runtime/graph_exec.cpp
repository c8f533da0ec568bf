// csrc/runtime/graph_exec.cpp - graphs made ready: launching them, and changing them in place.
#include <algorithm>
#include <optional>

#include "runtime/at_once.hpp"
#include "runtime/graph.hpp"
#include "runtime/memory.hpp"
#include "runtime/name.hpp"
#include "runtime/profile.hpp"

namespace cupola {
namespace {

void check_launch(CUresult code) {
    if (code == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        fail_driver(code, "cuGraphLaunch",
                    "the stream is being captured by another library: what is ready to launch "
                    "becomes a part of a capture by cupola.Stream.capture only");
    check(code, "cuGraphLaunch");
}

}  // namespace

GraphExec::GraphExec(const Graph& graph) : context(graph.context) {
    Current current(context);
    const Capture::Relaxed relaxed;
    const Driver& d = driver();
    if (!d.cuGraphInstantiateWithFlags)
        fail(CUPOLA_ERROR_NO_DRIVER, "launching graphs needs a driver of CUDA 11.4 or newer");
    const CUresult code = d.cuGraphInstantiateWithFlags(&handle, graph.handle, 0);
    if (code == CUDA_ERROR_INVALID_VALUE)
        fail_driver(code, "cuGraphInstantiateWithFlags",
                    "do its nodes wait for each other in a circle?");
    check(code, "cuGraphInstantiateWithFlags");
    holdings_ = graph.holdings;  // the boxes are shared: nobody takes out of one
    calls_ = !holdings_.calls.empty();
    CUPOLA_CALL(cuGraphGetNodes, graph.handle, nullptr, &nodes_);
    places_ = places_of(graph.handle);
    find_kernels(graph.handle, kernels_);
    entitle();
    copy(graph.handle);
}

// "graph of 3 nodes (kernels axpy, dot x2)"
void GraphExec::entitle() {
    constexpr std::size_t most = 8;
    const Driver& d = driver();
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
    title_ = lasting("graph of " + std::to_string(nodes_) + (nodes_ == 1 ? " node" : " nodes") +
                     (list.empty() ? "" : " (kernels " + list + ")"));
}

void GraphExec::copy(CUgraph graph) {
    const Driver& d = driver();
    CUgraph fresh = nullptr;
    if (d.cuGraphClone(&fresh, graph) != CUDA_SUCCESS) {
        fresh = nullptr;
        not_copied_ = "the driver copies no graph with such nodes, as those that allocate memory";
    }
    if (copy_) d.cuGraphDestroy(copy_);
    copy_ = fresh;
}

GraphExec::~GraphExec() {
    const Driver* d = driver_alive();
    if (!d) return;
    for (const auto& [_, box] : holdings_.boxes) retire(*box);
    const Capture::Relaxed relaxed(Capture::Relaxed::anybodys);
    if (copy_) d->cuGraphDestroy(copy_);
    d->cuGraphExecDestroy(handle);  // what was launched runs to its end
}

// Launches may be on their way: memory is freed behind them.
void GraphExec::retire(Box& box) {
    std::lock_guard<std::mutex> lock(box.mutex);  // another thread may be putting something there
    for (const Ref<Object>& object : box.held)
        if (auto* memory = dynamic_cast<Memory*>(object.get()))
            for (const Ref<Stream>& stream : streams_) memory->use(*stream);
}

void GraphExec::note(Stream& stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    const bool known = std::any_of(streams_.begin(), streams_.end(), [&](const auto& each) {
        return each->handle == stream.handle && &each->context == &stream.context;
    });
    if (!known) streams_.push_back(Ref<Stream>::share(&stream));
    last_.store(&stream, std::memory_order_release);
}

bool GraphExec::launches_at_once(Stream& stream) {
    constexpr int few = 16;  // of more, the launch costs far more than the lock
    return !calls_.load(std::memory_order_relaxed) && places_ <= few &&
           !queue_may_wait(stream, places_);
}

void GraphExec::launch(Stream& stream) {
    std::optional<Current> current;
    if (stream.needs_current()) current.emplace(stream.context);
    // The streams that were noted are held, so an equal address is the same stream.
    if (__builtin_expect(last_.load(std::memory_order_acquire) != &stream, 0)) note(stream);
    const Driver& driver = cupola::driver();
    if (__builtin_expect(calls_.load(std::memory_order_relaxed) || Capture::any() ||
                             driver.instrumented.load(std::memory_order_relaxed),
                         0))
        launch_otherwise(stream);
    else
        check_launch(driver.cuGraphLaunch(handle, stream.handle));
    stream.flight.add(title_.load(std::memory_order_relaxed));
    if (__builtin_expect(driver.synchronous, 0) && !stream.flight.capturing()) stream.synchronize();
}

void GraphExec::launch_otherwise(Stream& stream) {
    if (driver().debug())
        log(std::string("launch ") + title_.load() + ", stream " +
            hex(reinterpret_cast<std::uintptr_t>(stream.handle)));
    const Span span(CUPOLA_PROFILE_GRAPH, title_.load(std::memory_order_relaxed), &stream);
    if (const auto capture = Capture::of(stream)) {  // it becomes a part of that graph
        Holdings all;
        std::lock_guard<std::mutex> own(mutex_);
        if (!copy_)
            fail(CUPOLA_ERROR_VALUE,
                 std::string("this graph can't become a part of the one that is captured: ") +
                     not_copied_);
        Capture::add_child(stream, copy_);
        all.add(holdings_);
        std::lock_guard<std::mutex> lock(capture->box->mutex);
        for (auto& object : all.box(nullptr).held) capture->box->held.push_back(object);
        for (auto& call : all.calls) capture->calls.push_back(call);
        return;
    }
    std::vector<Ref<Callback>> expected;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        expected = holdings_.calls;
    }
    for (auto& call : expected) call->expect();
    const CUresult code = driver().cuGraphLaunch(handle, stream.handle);
    if (code == CUDA_SUCCESS) return;
    for (auto& call : expected) call->give_up();
    check_launch(code);
}

void GraphExec::set_kernel(CUgraphNode node, Kernel& kernel, const cupola_dimensions& dimensions,
                           const void* buffer, Ref<Object> owner) {
    Current current(context);
    std::vector<void*> pointers;
    const auto given = kernel_parameters(kernel, dimensions, buffer, pointers);
    Holdings fresh;
    fresh.hold(node, Ref<Object>::share(&kernel));
    if (owner) fresh.hold(node, std::move(owner));
    fresh.hold_used(node, kernel, buffer);
    std::shared_ptr<Box> old;  // let go after the lock
    std::lock_guard<std::mutex> lock(mutex_);
    const CUresult code = driver().cuGraphExecKernelNodeSetParams(
        handle, node, reinterpret_cast<const CUDA_KERNEL_NODE_PARAMS_v1*>(&given));
    if (code == CUDA_ERROR_INVALID_VALUE)
        fail_driver(code, "cuGraphExecKernelNodeSetParams",
                    "the node must be a kernel's, of the graph which this was made of");
    check(code, "cuGraphExecKernelNodeSetParams");
    CUgraphNode twin = nullptr;
    if (copy_ &&
        (driver().cuGraphNodeFindInClone(&twin, node, copy_) != CUDA_SUCCESS ||
         driver().cuGraphKernelNodeSetParams(
             twin, reinterpret_cast<const CUDA_KERNEL_NODE_PARAMS_v1*>(&given)) != CUDA_SUCCESS)) {
        driver().cuGraphDestroy(std::exchange(copy_, nullptr));
        not_copied_ =
            "a node was updated that is in a graph within it, or is not of the graph by which all "
            "of it was updated last";
    }
    if (CUfunction& function = kernels_[node]; function != given.func) {
        function = given.func;
        entitle();
    }
    old = std::move(holdings_.boxes[node]);
    if (old) retire(*old);
    holdings_.boxes[node] = fresh.boxes[node];
}

void GraphExec::update(const Graph& graph) {
    Current current(context);
    Holdings old;  // let go after the lock
    std::lock_guard<std::mutex> lock(mutex_);
    std::size_t count = 0;
    CUPOLA_CALL(cuGraphGetNodes, graph.handle, nullptr, &count);
    CUgraphNode node = nullptr;
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    const CUresult code = driver().cuGraphExecUpdate(handle, graph.handle, &node, &result);
    if (code == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
        fail_driver(code, "cuGraphExecUpdate",
                    // Of the number of nodes, which is the same matter, not every driver says so.
                    result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED || count != nodes_
                        ? "the graphs differ in their nodes or edges: instantiate the new one"
                    : result == CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED
                        ? "a node is of another kind: instantiate the new graph"
                        : "a node can't be changed so: instantiate the new graph");
    check(code, "cuGraphExecUpdate");
    for (const auto& [_, box] : holdings_.boxes) retire(*box);
    old = std::exchange(holdings_, graph.holdings);
    copy(graph.handle);
    calls_ = !holdings_.calls.empty();
    kernels_.clear();
    find_kernels(graph.handle, kernels_);
    entitle();
}

}  // namespace cupola

using namespace cupola;

int cupola_graph_instantiate(const cupola_graph* graph, cupola_graph_exec** out) {
    return guard([&] {
        const Graph& g = *unwrap(const_cast<cupola_graph*>(required(graph, "graph")));
        required(out, "out");
        *out = wrap(make<GraphExec>(g).detach());
    });
}

int cupola_graph_exec_launch(cupola_graph_exec* exec, cupola_stream* stream) {
    return guard([&] {
        GraphExec& e = *unwrap(required(exec, "exec"));
        driver();  // a forked child must not get further
        e.launch(stream_or_current(unwrap(stream), e.context));
    });
}

int cupola_graph_exec_launch_at_once(cupola_graph_exec* exec, cupola_stream* stream) {
    bool waits = false;
    const int status = guard([&] {
        GraphExec& e = *unwrap(required(exec, "exec"));
        driver();
        Stream& s = stream_or_current(unwrap(stream), e.context);
        waits = !e.launches_at_once(s);
        if (!waits) e.launch(s);
    });
    return waits ? CUPOLA_WOULD_WAIT : status;
}

int cupola_graph_exec_upload(cupola_graph_exec* exec, cupola_stream* stream) {
    return guard([&] {
        GraphExec& e = *unwrap(required(exec, "exec"));
        Stream& s = stream_or_current(unwrap(stream), e.context);
        Capture::refuse(s, "used to upload a graph");
        Current current(s.context);
        CUPOLA_CALL(cuGraphUpload, e.handle, s.handle);
    });
}

int cupola_graph_exec_set_kernel(cupola_graph_exec* exec, cupola_node node, cupola_kernel* kernel,
                                 const cupola_dimensions* dimensions, const void* buffer,
                                 void* owner, void (*release)(void*)) {
    return guard([&] {
        GraphExec& e = *unwrap(required(exec, "exec"));
        Kernel& k = *unwrap(required(kernel, "kernel"));
        if (k.parameter_bytes) required(buffer, "buffer");
        auto kept = owner ? make<Owner>(owner, release) : Ref<Owner>();
        e.set_kernel(static_cast<CUgraphNode>(node), k, *required(dimensions, "dimensions"), buffer,
                     Ref<Object>::adopt(kept.detach()));
    });
}

int cupola_graph_exec_update(cupola_graph_exec* exec, const cupola_graph* graph) {
    return guard([&] {
        const Graph& g = *unwrap(const_cast<cupola_graph*>(required(graph, "graph")));
        unwrap(required(exec, "exec"))->update(g);
    });
}

void* cupola_graph_exec_handle(const cupola_graph_exec* exec) {
    return exec ? unwrap(const_cast<cupola_graph_exec*>(exec))->handle : nullptr;
}
void cupola_graph_exec_retain(cupola_graph_exec* exec) {
    if (exec) unwrap(exec)->retain();
}
void cupola_graph_exec_release(cupola_graph_exec* exec) {
    if (exec) unwrap(exec)->release();
}
