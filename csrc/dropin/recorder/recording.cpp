// csrc/dropin/recorder/recording.cpp - writes launches to the spool, and what the spool ends with.
#include "dropin/recorder/recording.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <map>

#include "dropin/recorder/settings.hpp"
#include "dropin/recorder/spool.hpp"
#include "platform/demangle.hpp"

namespace cupola::recorder {
namespace {

// Never destroyed: threads may launch while the process exits.
struct State {
    std::mutex mutex;  // held while a launch is recorded
    Spool spool;
    std::uint64_t seen = 0, used = 0, images = 0;
    std::map<std::pair<std::string, std::string>, std::uint64_t> left_out;
    std::vector<std::string> contents;  // of the pieces of the launch
    std::atomic<int> captures{0};
    std::atomic<std::uint64_t> graphs{0};  // launches of graphs
    std::atomic<bool> forked{false};
    bool closed = false;  // no further launch is recorded
    std::string stopped;
};

State& state() {
    static State* const made = new State;
    return *made;
}

const char* const limit_reached = "its limit of bytes is reached";

// No further launch is recorded. The caller holds the mutex.
void stop(const std::string& reason) {
    functions.close();
    state().stopped = reason;
    state().closed = true;
}

void add_left_out(const std::string& kernel, const std::string& reason) {
    ++state().left_out[{title(kernel), reason}];
}

std::string error_text(CUresult code) {
    const char *name = nullptr, *text = nullptr;
    CUPOLA_REAL(cuGetErrorName, cuGetErrorName)(code, &name);
    CUPOLA_REAL(cuGetErrorString, cuGetErrorString)(code, &text);
    return (name ? std::string(name) : "error " + std::to_string(code)) +
           (text ? std::string(": ") + text : "");
}

// Lets this thread wait and copy while another thread captures a stream in global mode.
class Relaxed {
  public:
    Relaxed() { exchange(); }
    ~Relaxed() { exchange(); }
    Relaxed(const Relaxed&) = delete;
    Relaxed& operator=(const Relaxed&) = delete;

  private:
    void exchange() {
        CUPOLA_REAL(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)(&mode_);
    }
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

CUresult synchronize() { return reinterpret_cast<CUresult (*)()>(cupola_real_cuCtxSynchronize)(); }

void write_device(Spool& spool) {
    CUdevice device = 0;
    char name[256] = "";
    int major = 0, minor = 0;
    reinterpret_cast<CUresult (*)(CUdevice*)>(cupola_real_cuCtxGetDevice)(&device);
    CUPOLA_REAL(cuDeviceGetName, cuDeviceGetName)(name, sizeof name, device);
    const auto attribute = CUPOLA_REAL(cuDeviceGetAttribute, cuDeviceGetAttribute);
    attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    Record about;
    about.text(name).number(static_cast<unsigned>(major)).number(static_cast<unsigned>(minor));
    spool.write(Kind::device, about.bytes());
}

// The attributes in the form of `cupola_attributes`.
void put_attributes(const Call& call, Record& about) {
    constexpr std::uint64_t cooperative = 1, dependent = 2, prioritised = 4, carved = 8;
    std::uint64_t cluster[3] = {}, flags = call.cooperative ? cooperative : 0;
    std::int64_t priority = 0, carveout = 0;
    for (unsigned i = 0; i < call.attribute_count; ++i) {
        const CUlaunchAttributeValue& value = call.attributes[i].value;
        switch (static_cast<int>(call.attributes[i].id)) {
            case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
                cluster[0] = value.clusterDim.x;
                cluster[1] = value.clusterDim.y;
                cluster[2] = value.clusterDim.z;
                break;
            case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
                if (value.cooperative) flags |= cooperative;
                break;
            case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
                if (value.programmaticStreamSerializationAllowed) flags |= dependent;
                break;
            case CU_LAUNCH_ATTRIBUTE_PRIORITY:
                flags |= prioritised;
                priority = value.priority;
                break;
            case 14:  // CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, of CUDA 12.2
                flags |= carved;
                std::memcpy(&carveout, &value, sizeof(std::uint32_t));
                break;
            default:
                break;
        }
    }
    for (const std::uint64_t axis : cluster) about.number(axis);
    about.number(flags)
        .number(static_cast<std::uint64_t>(priority))
        .number(static_cast<std::uint64_t>(carveout));
}

// The driver's parameters of a function; false where this driver does not say them.
bool ask_parameters(const Function& function, const void* handle, std::vector<Parameter>& out) {
    const bool kernel = function.is_kernel;
    void* const real = kernel ? cupola_real_cuKernelGetParamInfo : cupola_real_cuFuncGetParamInfo;
    if (!exists(real)) return false;
    const auto ask =
        reinterpret_cast<CUresult (*)(const void*, std::size_t, std::size_t*, std::size_t*)>(real);
    Parameter one;
    CUresult code = CUDA_SUCCESS;
    while ((code = ask(handle, out.size(), &one.offset, &one.size)) == CUDA_SUCCESS)
        out.push_back(one);
    return code == CUDA_ERROR_INVALID_VALUE;  // the index after the last one
}

// Writes the last records of a spool. Calls no driver: it may have ended.
[[gnu::destructor]] void end() {
    State& now = state();
    std::unique_lock lock(now.mutex, std::try_to_lock);
    if (!lock || now.forked || settings().spool.empty()) return;
    if (const std::uint64_t graphs = now.graphs)
        now.left_out[{"a graph", "launches of graphs are not recorded"}] = graphs;
    if (!now.spool.is_open() && now.left_out.empty() && now.stopped.empty()) return;
    for (const auto& [of, count] : now.left_out) {
        Record about;
        about.text(of.first).text(of.second).number(count);
        now.spool.write(Kind::left_out, about.bytes());
    }
    Record about;
    about.text(now.stopped);
    now.spool.write(Kind::end, about.bytes());
}

// A driver does not survive fork(). The child must not write to the parent's file either.
[[gnu::constructor]] void watch_fork() {
    pthread_atfork(nullptr, nullptr, [] {
        if (!state().spool.is_open()) return;
        state().forked = true;
        functions.close();
    });
}

}  // namespace

Recording::Recording(Function& function, const void* handle, const Call& call)
    : function_(function), lock_(state().mutex) {
    try {
        began_ = is_chosen() && take(handle, call) && (settings().fault || write());
    } catch (const std::exception& error) {
        stop(error.what());
    }
    if (!began_) lock_.unlock();
}

bool Recording::is_chosen() {
    State& now = state();
    if (now.closed) return false;
    const std::uint64_t number = now.seen++;
    if (number < settings().first) return false;
    if (number >= settings().end) {
        stop("");
        return false;
    }
    if (now.captures <= 0) return true;
    add_left_out(function_.name, "the process was capturing a graph");
    return false;
}

bool Recording::take(const void* handle, const Call& call) {
    const auto refuse = [&](const char* reason) {
        add_left_out(function_.name, reason);
        return false;
    };
    if (function_.image->bytes().empty()) return refuse("its image has an unknown form");
    if (!pack(handle, call)) return refuse("the sizes of its parameters are unknown");
    // The program gets an error of earlier work from its own call.
    if (synchronize() != CUDA_SUCCESS) return refuse("the context had failed before");
    const Relaxed relaxed;
    for (Piece& variable : variables_of(function_)) memory_.add(std::move(variable));
    memory_.follow(packed_);
    if (!take_contents()) {
        if (settings().fault) return refuse("its memory exceeds the limit");
        stop(limit_reached);
        return false;
    }
    Record shape;
    for (const unsigned axis : call.grid) shape.number(axis);
    for (const unsigned axis : call.block) shape.number(axis);
    shape.number(call.shared);
    put_attributes(call, shape);
    shape_ = shape.bytes();
    return true;
}

bool Recording::pack(const void* handle, const Call& call) {
    if (!ask_parameters(function_, handle, parameters_)) {
        parameters_.clear();
        if (!function_.image->parameters(function_.name, parameters_)) return false;
    }
    std::size_t size = 0;
    for (const Parameter& one : parameters_) size = std::max(size, one.offset + one.size);
    packed_.assign(size, '\0');
    if (call.parameters) {
        for (std::size_t i = 0; i < parameters_.size(); ++i)
            std::memcpy(&packed_[parameters_[i].offset], call.parameters[i], parameters_[i].size);
        return true;
    }
    if (!call.extra) return parameters_.empty();
    const void* buffer = nullptr;
    std::size_t given = 0;
    for (void** at = call.extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
        if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
        if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) std::memcpy(&given, at[1], sizeof given);
    }
    if (buffer) std::memcpy(packed_.data(), buffer, std::min(given, size));
    return buffer || size == 0;
}

// The list of pieces grows while contents are read.
bool Recording::take_contents() {
    State& now = state();
    std::uint64_t total = settings().fault ? 0 : now.used;
    for (std::size_t i = 0; i < memory_.pieces().size();) {
        const Piece piece = memory_.pieces()[i];
        if (piece.bytes > settings().limit || total + piece.bytes > settings().limit) return false;
        if (now.contents.size() <= i) now.contents.emplace_back();
        if (!read(piece, now.contents[i])) {
            memory_.remove(i);
            continue;
        }
        total += piece.bytes;
        memory_.follow(now.contents[i++]);
    }
    return true;
}

bool Recording::write() {
    State& now = state();
    if (now.images == 0) write_device(now.spool);
    Image& image = *function_.image;
    if (image.number == 0) {
        Record about;
        about.number(image.number = ++now.images).text(image.bytes());
        now.spool.write(Kind::image, about.bytes());
    }
    Record about;
    about.number(image.number).text(function_.name).text(shape_).text(packed_);
    about.number(parameters_.size());
    for (const Parameter& one : parameters_) about.number(one.offset).number(one.size);
    about.number(memory_.pieces().size());
    for (std::size_t i = 0; i < memory_.pieces().size(); ++i) {
        const Piece& piece = memory_.pieces()[i];
        about.number(piece.begin).number(piece.bytes).text(piece.variable);
        now.spool.write(Kind::data, now.contents[i]);
        now.used += piece.bytes;
    }
    now.spool.write(Kind::launch, about.bytes());
    if (now.spool.failed()) stop("the file could not be written");
    return !now.spool.failed();
}

CUresult Recording::finish(CUresult result) {
    if (!began_) return result;
    try {
        const Relaxed relaxed;
        finish_launch(result != CUDA_SUCCESS ? result : synchronize());
    } catch (const std::exception& error) {
        stop(error.what());
    }
    lock_.unlock();
    return result;
}

// An error of the wait is sticky: the program gets it from its next call.
void Recording::finish_launch(CUresult error) {
    State& now = state();
    if (settings().fault) {
        if (error == CUDA_SUCCESS || !write()) return;
    }
    Record about;
    about.text(error == CUDA_SUCCESS ? "" : error_text(error));
    for (std::size_t i = 0; error == CUDA_SUCCESS && i < memory_.pieces().size(); ++i) {
        const Piece& piece = memory_.pieces()[i];
        if (now.used + piece.bytes > settings().limit) {
            stop(limit_reached);
            return;
        }
        if (!read(piece, now.contents[i])) {
            about = {};
            about.text("its memory could not be read after the launch");
            break;
        }
        now.used += piece.bytes;
        now.spool.write(Kind::data, now.contents[i]);
    }
    now.spool.write(Kind::after, about.bytes());
    if (now.spool.failed())
        stop("the file could not be written");
    else if (error != CUDA_SUCCESS || now.seen >= settings().end)
        stop("");
}

void count_captures(int change) { state().captures += change; }

void count_graph_launch() { state().graphs.fetch_add(1, std::memory_order_relaxed); }

}  // namespace cupola::recorder
