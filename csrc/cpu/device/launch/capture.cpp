// csrc/cpu/device/launch/capture.cpp - begins, ends and invalidates captures.
#include "cpu/device/launch/capture.hpp"

#include <algorithm>
#include <set>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/stream/event.hpp"
#include "cpu/device/stream/stream.hpp"

namespace cupola::cpu {

namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

Driver& driver_of(const Stream& stream) { return stream.context()->driver(); }

void add_missing_nodes(std::vector<Node*>& into, const std::vector<Node*>& more) {
    for (Node* node : more)
        if (std::find(into.begin(), into.end(), node) == into.end()) into.push_back(node);
}

}  // namespace

Capture::Capture(std::shared_ptr<Stream> origin, CUstreamCaptureMode mode,
                 std::shared_ptr<Graph> graph)
    : driver_(origin->context_pointer()->driver()),
      id_(++driver_.last_capture_id),
      mode_(mode),
      thread_(std::this_thread::get_id()),
      origin_(std::move(origin)),
      graph_(graph ? std::move(graph) : Graph::make(driver_)) {}

void Capture::begin(Stream& stream, CUstreamCaptureMode mode) {
    require(stream.kind() != Stream::Kind::legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    std::lock_guard lock(driver_of(stream).graph_mutex);
    begin_in(nullptr, {}, stream, mode);
}

// Needs the lock.
void Capture::begin_in(std::shared_ptr<Graph> graph, std::vector<Node*> after, Stream& stream,
                       CUstreamCaptureMode mode) {
    require(stream.kind() != Stream::Kind::legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require(!stream.capture, CUDA_ERROR_ILLEGAL_STATE);
    const bool given = graph != nullptr;
    auto capture = std::make_shared<Capture>(stream.shared_from_this(), mode, std::move(graph));
    capture->own_ = !given;
    capture->places_[&stream] = {stream.shared_from_this(), std::move(after)};
    CaptureTable& captures = capture->driver_.captures;
    captures.all.push_back(capture.get());
    stream.capture = std::move(capture);
    captures.active.fetch_add(1);
}

// Needs the lock. The capture's streams no longer capture.
void Capture::close() {
    const auto keep = shared_from_this();
    for (auto& [_, place] : places_) place.stream->capture.reset();
    places_.clear();
    auto& all = driver_.captures.all;
    all.erase(std::find(all.begin(), all.end(), this));
    driver_.captures.active.fetch_sub(1);
}

// Whether the origin stream depends on all work of the streams that joined.
bool Capture::joined() const {
    std::set<const Node*> reached;
    std::vector<const Node*> next;
    const auto reach = [&](const std::vector<Node*>& nodes) {
        for (const Node* node : nodes)
            if (reached.insert(node).second) next.push_back(node);
    };
    reach(places_.at(origin_.get()).after);
    while (!next.empty()) {
        const Node* node = next.back();
        next.pop_back();
        reach(node->before);
    }
    for (const auto& [_, place] : places_)
        for (const Node* node : place.after)
            if (!reached.count(node)) return false;
    return true;
}

std::shared_ptr<Graph> Capture::end(Stream& stream) {
    std::lock_guard lock(driver_of(stream).graph_mutex);
    const auto capture = stream.capture;
    require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    if (capture->origin_.get() != &stream) capture->spoil(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    require(capture->mode_ == CU_STREAM_CAPTURE_MODE_RELAXED ||
                capture->thread_ == std::this_thread::get_id(),
            CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    const bool joined = capture->joined();
    capture->close();
    if (capture->valid_ && joined) return capture->graph_;
    if (capture->own_) capture->graph_->forget();
    fail(capture->valid_ ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                         : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

void Capture::spoil(CUresult code) {
    valid_ = false;
    fail(code);
}

std::shared_ptr<Capture> Capture::find(Stream& stream) {
    Driver& driver = driver_of(stream);
    std::lock_guard lock(driver.graph_mutex);
    if (stream.capture) {
        require(stream.capture->valid_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        return stream.capture;
    }
    // Work in the legacy stream would wait for the capturing streams.
    if (stream.kind() != Stream::Kind::legacy) return nullptr;
    bool disturbed = false;
    for (Capture* capture : driver.captures.all)
        for (const auto& [_, place] : capture->places_)
            if (place.stream->context() == stream.context() && place.stream->blocking()) {
                capture->valid_ = false;
                disturbed = true;
            }
    require(!disturbed, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    return nullptr;
}

void Capture::refuse(Stream& stream) {
    if (const auto capture = find(stream)) {
        std::lock_guard lock(capture->driver_.graph_mutex);
        capture->spoil(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
}

void Capture::refuse(Driver& driver) {
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
    std::lock_guard lock(driver.graph_mutex);
    bool disturbed = false;
    for (Capture* capture : driver.captures.all) {
        const bool mine = capture->thread_ == std::this_thread::get_id() &&
                          capture->mode_ != CU_STREAM_CAPTURE_MODE_RELAXED;
        const bool everybodys = capture->mode_ == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                                thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (!mine && !everybodys) continue;
        capture->valid_ = false;
        disturbed = true;
    }
    require(!disturbed, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void Capture::refuse(const Context& context) {
    Driver& driver = context.driver();
    std::lock_guard lock(driver.graph_mutex);
    bool disturbed = false;
    for (Capture* capture : driver.captures.all)
        for (const auto& [_, place] : capture->places_)
            if (place.stream->context() == &context) {
                capture->valid_ = false;
                disturbed = true;
            }
    require(!disturbed, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void Capture::require_uncaptured(const Event& event) {
    const auto capture = event.captured().capture;
    if (!capture) return;
    std::lock_guard lock(capture->driver_.graph_mutex);
    capture->spoil(CUDA_ERROR_CAPTURED_EVENT);
}

bool Capture::into(const Graph& graph) {
    const auto& all = graph.driver().captures.all;
    return std::any_of(all.begin(), all.end(),
                       [&](const Capture* each) { return each->graph_.get() == &graph; });
}

CUstreamCaptureMode Capture::exchange(CUstreamCaptureMode mode) {
    return std::exchange(thread_mode, mode);
}

void Capture::add(Stream& stream, Work work) {
    std::lock_guard lock(driver_.graph_mutex);
    const auto it = places_.find(&stream);
    require(valid_ && it != places_.end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    it->second.after = {&graph_->add(std::move(work), it->second.after)};
}

void Capture::record(Stream& stream, Event& event) {
    std::lock_guard lock(driver_.graph_mutex);
    const auto it = places_.find(&stream);
    require(valid_ && it != places_.end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    event.set_captured({shared_from_this(), it->second.after});
}

void Capture::wait(Stream& stream, Event& event) {
    std::lock_guard lock(driver_of(stream).graph_mutex);
    const auto captured = event.captured();
    const auto mine = stream.capture;
    if (mine) {
        require(mine->valid_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        // Work of other streams that is not part of the graph.
        if (!captured.capture) mine->spoil(CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        if (captured.capture != mine) {
            if (!captured.capture->valid_) mine->spoil(CUDA_ERROR_INVALID_VALUE);
            captured.capture->valid_ = false;
            mine->spoil(CUDA_ERROR_STREAM_CAPTURE_MERGE);
        }
        add_missing_nodes(mine->places_.at(&stream).after, captured.after);
        return;
    }
    const auto& theirs = captured.capture;
    require(!theirs->places_.empty(), CUDA_ERROR_CAPTURED_EVENT);  // the capture has ended
    require(theirs->valid_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (stream.kind() == Stream::Kind::legacy) theirs->spoil(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    theirs->places_[&stream] = {stream.shared_from_this(), captured.after};
    stream.capture = theirs;
}

void Capture::leave(Stream& stream) {
    std::lock_guard lock(driver_of(stream).graph_mutex);
    const auto capture = stream.capture;
    if (!capture || capture->origin_.get() != &stream) return;
    capture->valid_ = false;  // the capture's first stream is destroyed, so the capture cannot end
    capture->graph_->forget();
    capture->close();
}

Capture::Info Capture::info(Stream& stream) {
    Driver& driver = driver_of(stream);
    std::lock_guard lock(driver.graph_mutex);
    Info info;
    const auto capture = stream.capture;
    if (!capture && stream.kind() == Stream::Kind::legacy)
        for (const Capture* other : driver.captures.all)
            for (const auto& [_, place] : other->places_)
                require(place.stream->context() != stream.context() || !place.stream->blocking(),
                        CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (!capture) return info;
    info.id = capture->id_;
    info.status =
        capture->valid_ ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    if (!capture->valid_) return info;
    Place& place = capture->places_.at(&stream);
    place.shown.clear();
    for (Node* node : place.after) place.shown.push_back(node->handle());
    place.edges.assign(place.after.size(), CUgraphEdgeData{});
    info.graph = capture->graph_->handle();
    info.edges = place.edges.data();
    info.dependencies = place.shown.data();
    info.count = place.shown.size();
    return info;
}

void Capture::set_dependencies(Stream& stream, CUgraphNode* nodes, std::size_t count, bool add) {
    Driver& driver = driver_of(stream);
    std::lock_guard lock(driver.graph_mutex);
    const auto capture = stream.capture;
    require(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    require(capture->valid_, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    require(nodes || count == 0);
    std::vector<Node*> wanted;
    for (std::size_t i = 0; i < count; ++i) {
        const auto node = driver.nodes.get(nodes[i], CUDA_ERROR_INVALID_VALUE);
        require(capture->graph_->has(*node));
        wanted.push_back(node.get());
    }
    auto& after = capture->places_.at(&stream).after;
    if (!add) after.clear();
    add_missing_nodes(after, wanted);
}

}  // namespace cupola::cpu
