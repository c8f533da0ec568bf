// csrc/runtime/memory/staging.cpp - copies pageable memory through page-locked chunks.
//
// The driver copies pageable memory through its own page-locked memory, on one thread. Here several
// threads do so. Each has two chunks, fills one while the other is transferred, and queues the
// transfers on the copy's stream. The transfers touch different bytes, so any order is correct.
#include "runtime/memory/staging.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/base/thread_pool.hpp"
#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
constexpr std::size_t max_stages = 4;  // for each device, so that copies on several streams overlap

struct Chunk {
    char* host = nullptr;
    CUevent free = nullptr;  // recorded after the last transfer
    bool used = false;
    const DriverLink* driver = nullptr;

    Chunk() = default;
    Chunk(const Chunk&) = delete;
    Chunk& operator=(const Chunk&) = delete;
    // Frees the chunks of a staging buffer that failed to build; complete ones are never freed.
    ~Chunk() {
        const Driver* d = driver ? driver->alive() : nullptr;
        if (!d) return;
        if (free) d->cuEventDestroy(free);
        if (host) d->cuMemFreeHost(host);
    }
};

using ChunkPair = std::array<Chunk, 2>;  // the chunks of one thread

// Chunks for one copy at a time.
struct StagingBuffer {
    explicit StagingBuffer(const Driver& d) : lanes(staging_threads(d)) {}

    std::vector<ChunkPair> lanes;
    CUstream last = nullptr;  // the stream of the last transfers
    bool busy = false;

    bool idle(const Driver& d) const {
        for (const ChunkPair& lane : lanes)
            for (const Chunk& chunk : lane)
                if (chunk.used && d.cuEventQuery(chunk.free) != CUDA_SUCCESS) return false;
        return true;
    }
};

struct Stages {
    std::mutex mutex;
    std::vector<std::unique_ptr<StagingBuffer>> all;
    bool exhausted = false;  // page-locked memory ran out
};

Stages& stages_of(const Context& context) {
    static auto* const all = new std::array<Stages, max_ordinals>;
    return all->at(static_cast<std::size_t>(context.ordinal));
}

std::unique_ptr<StagingBuffer> make_stage(const Context& context) {
    auto stage = std::make_unique<StagingBuffer>(context.driver);
    for (ChunkPair& lane : stage->lanes)
        for (Chunk& chunk : lane) {
            chunk.driver = &context.driver;
            void* pointer = nullptr;
            CUPOLA_CALL(context.driver, cuMemHostAlloc, &pointer, chunk_bytes,
                        CU_MEMHOSTALLOC_PORTABLE);
            chunk.host = static_cast<char*>(pointer);
            CUPOLA_CALL(context.driver, cuEventCreate, &chunk.free, CU_EVENT_DISABLE_TIMING);
        }
    return stage;
}

// A staging buffer that is free without waiting for other streams: those streams may be waiting for
// this thread. Null where no such buffer exists.
class StagingLease {
  public:
    explicit StagingLease(Stream& stream)
        : context_(stream.context), stages_(stages_of(stream.context)) {
        // These calls must not invalidate a capture, as the copy itself would not.
        const RelaxedCapture relaxed(context_.driver, RelaxedCapture::any_library);
        std::lock_guard<std::mutex> lock(stages_.mutex);
        for (auto& stage : stages_.all)
            if (!stage->busy && (stage->last == stream.handle || stage->idle(context_.driver))) {
                stage_ = stage.get();
                break;
            }
        if (!stage_ && stages_.all.size() < max_stages && !stages_.exhausted) stage_ = add();
        if (!stage_) return;
        stage_->busy = true;
        stage_->last = stream.handle;
    }
    ~StagingLease() {
        if (!stage_) return;
        std::lock_guard<std::mutex> lock(stages_.mutex);
        stage_->busy = false;
    }
    StagingLease(const StagingLease&) = delete;
    StagingLease& operator=(const StagingLease&) = delete;
    StagingBuffer* get() const { return stage_; }

  private:
    // Null where this fails: the driver's own copy is then used and reports errors.
    StagingBuffer* add() {
        try {
            stages_.all.push_back(make_stage(context_));
        } catch (const Error&) {
            stages_.exhausted = true;
            return nullptr;
        }
        return stages_.all.back().get();
    }

    const Context& context_;
    Stages& stages_;
    StagingBuffer* stage_ = nullptr;
};

// The smallest size to stage. Staging gains nothing on the CPU device, where a copy is one memcpy.
std::uint64_t threshold(const Driver& d) {
    constexpr std::uint64_t never = ~std::uint64_t{0};
    const std::uint64_t asked = d.staging.bytes;
    if (asked == StagingSettings::not_set) return d.cpu ? never : 4 * chunk_bytes;
    return asked ? asked : never;
}

bool should_stage(const void* host, std::size_t bytes, const Stream& stream) {
    const Driver& d = stream.context.driver;
    if (bytes < threshold(d)) return false;
    // Other threads can't name this thread's per-thread default stream.
    if (stream.handle == CU_STREAM_PER_THREAD) return false;
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    if (d.cuStreamIsCapturing(stream.handle, &capture) != CUDA_SUCCESS ||
        capture != CU_STREAM_CAPTURE_STATUS_NONE)
        return false;
    unsigned type = 0;
    return d.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   reinterpret_cast<std::uintptr_t>(host)) ==
           CUDA_ERROR_INVALID_VALUE;
}

// The chunks of one copy, shared by the threads.
struct Work {
    Stream& stream;
    std::size_t bytes;
    std::atomic<std::size_t> next{0};
    std::atomic<int> failure{CUDA_SUCCESS};

    bool take(std::size_t& offset, std::size_t& length) {
        if (failure != CUDA_SUCCESS) return false;
        offset = next.fetch_add(chunk_bytes);
        if (offset >= bytes) return false;
        length = std::min(chunk_bytes, bytes - offset);
        return true;
    }
    bool ok(CUresult code) {
        int none = CUDA_SUCCESS;
        if (code != CUDA_SUCCESS) failure.compare_exchange_strong(none, code);
        return code == CUDA_SUCCESS;
    }
};

void fill_lane(Work& work, ChunkPair& lane, std::uint64_t to, const char* from) {
    const Driver& d = work.stream.context.driver;
    std::size_t offset = 0, length = 0;
    for (std::size_t turn = 0; work.take(offset, length); ++turn) {
        Chunk& chunk = lane[turn % lane.size()];
        if (chunk.used && !work.ok(d.cuEventSynchronize(chunk.free))) return;
        std::memcpy(chunk.host, from + offset, length);
        chunk.used = true;
        if (!work.ok(d.cuMemcpyHtoDAsync(to + offset, chunk.host, length, work.stream.handle)) ||
            !work.ok(d.cuEventRecord(chunk.free, work.stream.handle)))
            return;
    }
}

void drain_lane(Work& work, ChunkPair& lane, char* to, std::uint64_t from) {
    struct Pending {
        std::size_t offset = 0, length = 0;
    };
    const Driver& d = work.stream.context.driver;
    std::array<Pending, std::tuple_size_v<ChunkPair>> pending;
    const auto finish = [&](std::size_t which) {
        Pending& p = pending[which];
        if (p.length == 0) return true;
        if (!work.ok(d.cuEventSynchronize(lane[which].free))) return false;
        std::memcpy(to + p.offset, lane[which].host, p.length);
        p.length = 0;
        return true;
    };
    std::size_t turn = 0, offset = 0, length = 0;
    for (; work.take(offset, length); ++turn) {
        const std::size_t which = turn % lane.size();
        Chunk& chunk = lane[which];
        if (!finish(which)) return;
        if (chunk.used && !work.ok(d.cuEventSynchronize(chunk.free))) return;
        chunk.used = true;
        if (!work.ok(d.cuMemcpyDtoHAsync(chunk.host, from + offset, length, work.stream.handle)) ||
            !work.ok(d.cuEventRecord(chunk.free, work.stream.handle)))
            return;
        pending[which] = {offset, length};
    }
    for (std::size_t i = 0; i < lane.size(); ++i)
        if (!finish((turn + i) % lane.size())) return;
}

template <class Lanes>
void run(StagingBuffer& stage, Work& work, const char* call, Lanes&& lanes) {
    const std::size_t chunks = (work.bytes + chunk_bytes - 1) / chunk_bytes;
    run_in_pool(std::min(stage.lanes.size(), chunks), [&](std::size_t i) {
        try {
            ContextScope current(work.stream.context);
            const RelaxedCapture relaxed(work.stream.context.driver, RelaxedCapture::any_library);
            lanes(stage.lanes[i]);
        } catch (const Error& error) {
            work.ok(error.code ? static_cast<CUresult>(error.code) : CUDA_ERROR_UNKNOWN);
        }
    });
    check(work.stream.context.driver, static_cast<CUresult>(work.failure.load()), call);
}

}  // namespace

std::size_t staging_threads(const Driver& driver, std::size_t directions) {
    const std::uint64_t chosen = driver.staging.threads;
    return chosen ? chosen : default_pool_threads(directions);
}

bool stage_to_device(std::uint64_t to, const void* from, std::size_t bytes, Stream& stream) {
    if (!should_stage(from, bytes, stream)) return false;
    StagingLease claim(stream);
    if (!claim.get()) return false;
    Work work{stream, bytes};
    run(*claim.get(), work, "cuMemcpyHtoDAsync",
        [&](ChunkPair& lane) { fill_lane(work, lane, to, static_cast<const char*>(from)); });
    return true;
}

bool stage_to_host(void* to, std::uint64_t from, std::size_t bytes, Stream& stream) {
    if (!should_stage(to, bytes, stream)) return false;
    StagingLease claim(stream);
    if (!claim.get()) return false;
    Work work{stream, bytes};
    run(*claim.get(), work, "cuMemcpyDtoHAsync",
        [&](ChunkPair& lane) { drain_lane(work, lane, static_cast<char*>(to), from); });
    return true;
}

}  // namespace cupola
