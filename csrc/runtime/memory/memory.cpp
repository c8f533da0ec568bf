// csrc/runtime/memory/memory.cpp - device memory: allocation and freeing.
#include "runtime/memory/memory.hpp"

#include <algorithm>
#include <fstream>
#include <new>
#include <optional>

#include "runtime/context/capture.hpp"
#include "runtime/context/work_observer.hpp"

namespace cupola {
namespace {

std::string bytes_text(std::size_t bytes) {
    return std::to_string(bytes) + " bytes" +
           (bytes >= 1 << 20 ? " (" + std::to_string(bytes >> 20) + " MiB)" : "");
}

// "free: ... of ... on the host"; empty where the system does not report it.
std::string free_host_memory() {
    std::ifstream file("/proc/meminfo");
    std::size_t total = 0, available = 0, kibibytes = 0;
    for (std::string name, unit; file >> name >> kibibytes && std::getline(file, unit);) {
        if (name == "MemTotal:") total = kibibytes << 10;
        if (name == "MemAvailable:") available = kibibytes << 10;
    }
    if (!total) return "";
    return "free: " + bytes_text(available) + " of " + bytes_text(total) + " on the host";
}

// Memory of the pool without an owner.
struct Allocation {
    Context* context;
    CUdeviceptr address;
    Ref<Stream> first;
    std::vector<Ref<Stream>> others;
};

// Records an event after the queued work. Returns null where it waited for the work instead.
CUevent mark_end(const Stream& stream) {
    const Driver& d = stream.context.driver;
    const ContextScope current(stream.context);
    // The per-thread default stream of another thread can't be named: wait for all work.
    if (stream.handle == CU_STREAM_PER_THREAD) {
        d.cuCtxSynchronize();
        return nullptr;
    }
    CUevent mark = nullptr;
    if (d.cuEventCreate(&mark, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS &&
        d.cuEventRecord(mark, stream.handle) == CUDA_SUCCESS)
        return mark;
    if (mark) d.cuEventDestroy(mark);
    d.cuStreamSynchronize(stream.handle);
    return nullptr;
}

// Frees after the work of all streams that used it, of any device. The piece's context is current.
void free_in_order(const Driver& d, const Allocation& piece) {
    CUstream last = piece.first->handle;
    for (const Ref<Stream>& other : piece.others) {
        CUevent mark = mark_end(*other);
        if (!mark) continue;
        const Driver& theirs = other->context.driver;
        if (&theirs != &d || d.cuStreamWaitEvent(last, mark, 0) != CUDA_SUCCESS)
            theirs.cuEventSynchronize(mark);
        // The driver frees the memory when the stream reaches the free.
        theirs.cuEventDestroy(mark);
    }
    d.cuMemFreeAsync(piece.address, last);
}

void give_back(Allocation piece);

class DeferredFree : public Object {
  public:
    explicit DeferredFree(Allocation piece) : piece(std::move(piece)) {}
    ~DeferredFree() override {
        if (!piece || drivers_ended()) return;
        try {
            const ContextScope current(*piece->context);
            const RelaxedCapture relaxed(piece->context->driver, RelaxedCapture::any_library);
            give_back(std::move(*piece));
        } catch (const std::exception&) {  // out of host memory: the device memory leaks
        } catch (const Error&) {
        }
    }
    std::optional<Allocation> piece;
};

// Another thread may have begun to capture one of its streams. A free queued there would become a
// node of that graph, so it is deferred until the capture ends.
void give_back(Allocation piece) {
    const CaptureBlock closed;
    if (any_capture()) {
        auto* const mine = new DeferredFree(std::move(piece));
        Ref<Object> kept = Ref<Object>::adopt(mine);
        if (RetainedObject::keep(kept)) return;
        piece = std::move(*mine->piece);
        mine->piece.reset();
    }
    if (const Driver* d = piece.context->driver.alive()) free_in_order(*d, piece);
}

}  // namespace

std::string free_device_memory(const Driver& driver) {
    std::size_t free_bytes = 0, total = 0;
    if (driver.cuMemGetInfo(&free_bytes, &total) != CUDA_SUCCESS) return "";
    return "free: " + bytes_text(free_bytes) + " of " + bytes_text(total);
}

void fail_allocation(const Driver& driver, CUresult code, const char* call, std::size_t size,
                     Whose whose) {
    std::string what = "requested " + bytes_text(size), rest;
    if (code == CUDA_ERROR_OUT_OF_MEMORY)
        rest = whose == Whose::device ? free_device_memory(driver) : free_host_memory();
    fail_driver(driver, code, call, rest.empty() ? what : what + "; " + rest);
}

void Memory::begin(std::uint64_t at, const char* kind) {
    address = at;
    kind_ = kind;
    register_range(address, size);
    if (context.driver->debug()) log_it("allocate");
}

Memory::~Memory() {
    const Driver* d = context.driver.alive();
    if (!d || !d->debug() || !address) return;
    try {
        log_it("free");
    } catch (const std::bad_alloc&) {  // the message lacks this part
    }
}

void Memory::log_it(const char* what) const {
    log(std::string(what) + " " + std::to_string(size) + " bytes, " + kind_ + ", " +
        device_text(context) + ", at " + hex(address));
}

DeviceMemory::DeviceMemory(Context& context, std::size_t size, Stream& stream)
    : Memory(context, size), first_(Ref<Stream>::share(&stream)) {
    if (size == 0) return;
    // A per-thread default stream ends with its thread: no other thread can free in its order.
    pooled_ = context.pool && stream.handle != CU_STREAM_PER_THREAD;
    reusable_ = pooled_ && &stream.context == &context && stream.free_list.takes(size) &&
                !may_be_captured(context.driver, stream.handle);
    WorkObserver* const observer = WorkObserver::of(context.driver);
    const bool separate = observer && observer->separates();
    CUdeviceptr pointer = reusable_ && !separate ? stream.free_list.take(size) : 0;
    if (!pointer) pointer = allocate(separate ? size + 1 : size);
    Capture::note_allocation(stream, pointer, size);
    begin(pointer, pooled_ ? "of the pool" : "of the device");
    if (observer) observer->allocated(*this);
}

CUdeviceptr DeviceMemory::allocate(std::size_t bytes) {
    Capture::require_usable(*first_);
    ContextScope current(context);
    const RelaxedCapture relaxed(context.driver);
    CUdeviceptr pointer = 0;
    if (!pooled_) {
        CUresult code = context.driver->cuMemAlloc(&pointer, bytes);
        if (code != CUDA_SUCCESS) fail_allocation(context.driver, code, "cuMemAlloc", bytes);
        return pointer;
    }
    // In a capture, allocate immediately on a side stream: the graph's launches use this memory.
    const bool captured = Capture::of(*first_) != nullptr;
    if (captured)
        others_.push_back(
            std::exchange(first_, Ref<Stream>::share(&Capture::side_stream(context))));
    const auto ask = [&] {
        return context.driver->cuMemAllocFromPoolAsync(&pointer, bytes, context.pool,
                                                       first_->handle);
    };
    CUresult code = ask();
    if (code == CUDA_ERROR_OUT_OF_MEMORY && StreamFreeList::flush(context)) code = ask();
    if (code != CUDA_SUCCESS)
        fail_allocation(context.driver, code, "cuMemAllocFromPoolAsync", bytes);
    if (captured) CUPOLA_CALL(context.driver, cuStreamSynchronize, first_->handle);
    return pointer;
}

void DeviceMemory::use(Stream& stream) {
    // Most launches use the stream of the previous launch.
    if (__builtin_expect(latest_.load(std::memory_order_relaxed) == &stream, 1)) return;
    std::lock_guard<std::mutex> lock(mutex_);
    // The default streams of all devices have the same handle.
    const auto is_it = [&](const Ref<Stream>& known) {
        return known->handle == stream.handle && &known->context == &stream.context;
    };
    const auto known = std::find_if(others_.begin(), others_.end(), is_it);
    const Stream* kept = &stream;
    if (is_it(first_))
        kept = first_.get();
    else if (known != others_.end())
        kept = known->get();
    else
        others_.push_back(Ref<Stream>::share(&stream));
    // Compare only with an object that is kept alive: a freed one's address may be reused.
    if (kept == &stream) latest_.store(kept, std::memory_order_relaxed);
}

DeviceMemory::~DeviceMemory() {
    const Driver* d = context.driver.alive();
    if (!d || !address) return;
    CUdeviceptr going = address;
    // Do not reuse memory of a stream that any thread may be capturing.
    if (reusable_ && others_.empty() && !may_be_captured(context.driver, first_->handle))
        going = first_->free_list.put({address, size}).address;
    if (!going) return;
    try {
        ContextScope current(context);
        const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
        if (pooled_)
            give_back({&context, going, std::move(first_), std::move(others_)});
        else
            d->cuMemFree(address);     // waits for all work of the device
    } catch (const Error&) {           // the context is lost, with its memory
    } catch (const std::exception&) {  // out of host memory: the device memory leaks
    }
}

UnpooledMemory::~UnpooledMemory() {
    const Driver* d = context.driver.alive();
    if (!d || !address) return;
    try {
        ContextScope current(context);
        const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
        d->cuMemFree(address);
    } catch (const Error&) {
    }
}

}  // namespace cupola
