// csrc/runtime/pipeline/pipeline.cpp - the steps of a chunk, and their default order.
#include "runtime/pipeline/pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/base/thread_pool.hpp"
#include "runtime/copy/copy.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/lifetime/capture_scope.hpp"
#include "runtime/memory/staging.hpp"
#include "runtime/profile/profile.hpp"

namespace cupola {
namespace {

// A thread copies this much at a time between host arrays and page-locked memory.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;
// Smaller chunks finish so soon that polling is faster than sleeping.
constexpr std::size_t sleep_bytes = std::size_t{8} << 20;

}  // namespace

Pipeline::Pipeline(const cupola_pipeline_array* arrays, std::size_t count, std::int64_t length)
    : length_(length) {
    if (length < 1)
        fail(CUPOLA_ERROR_VALUE, "a chunk has at least 1 row, got " + std::to_string(length));
    if (count == 0) fail(CUPOLA_ERROR_VALUE, "a pipeline has at least one array");
    rows_ = check_not_null(arrays, "arrays")[0].shape[0];
    for (std::size_t i = 0; i < count; ++i) {
        const cupola_pipeline_array& a = arrays[i];
        if (a.ndim < 1)
            fail(CUPOLA_ERROR_VALUE, "an array has no axes: each array needs at least 1");
        if (a.shape[0] != rows_)
            fail(CUPOLA_ERROR_VALUE, "array " + std::to_string(i) + " has " +
                                         std::to_string(a.shape[0]) + " rows, array 0 has " +
                                         std::to_string(rows_));
        arrays_.push_back({HostArray(a.host, a.shape, a.strides, a.ndim, a.itemsize),
                           (a.flags & CUPOLA_PIPELINE_INPUT) != 0,
                           (a.flags & CUPOLA_PIPELINE_OUTPUT) != 0});
    }
    chunks_ = rows_ / length + (rows_ % length != 0);
    begun_.resize(static_cast<std::size_t>(chunks_));
}

std::int64_t Pipeline::rows_of(std::int64_t chunk) const {
    return std::min(length_, rows_ - chunk * length_);
}

std::size_t Pipeline::bytes_of(const Array& array, std::int64_t chunk) const {
    return static_cast<std::size_t>(rows_of(chunk)) * array.host.row_bytes();
}

// A thread's step in a slot. While the guard lives, no other step of the slot runs, and the
// pipeline can't be ended. With `alone` false, for reads, other threads may use the slot too.
class Pipeline::StepGuard {
  public:
    StepGuard(Pipeline& pipeline, std::size_t index, Step before, const char* step, bool alone)
        : pipeline_(pipeline), outer_(innermost), alone_(alone) {
        static constexpr const char* names[] = {"fill", "upload", "launch", "download", "drain"};
        std::lock_guard<std::mutex> lock(pipeline.mutex_);
        slot_ = &pipeline.slot_at(index);
        if (alone && slot_->taken)
            fail(CUPOLA_ERROR_VALUE,
                 "slot " + std::to_string(index) +
                     " is in use by another thread: one thread at a time works on a slot");
        if (slot_->step != before)
            fail(CUPOLA_ERROR_VALUE, "slot " + std::to_string(index) + ": expected its step " +
                                         names[static_cast<int>(slot_->step.load())] + ", got " +
                                         step);
        if (alone) slot_->taken = true;
        ++pipeline.under_way_;
        innermost = this;
    }
    ~StepGuard() {
        innermost = outer_;
        std::lock_guard<std::mutex> lock(pipeline_.mutex_);
        if (alone_) slot_->taken = false;
        if (--pipeline_.under_way_ == 0) pipeline_.idle_.notify_all();
    }
    StepGuard(const StepGuard&) = delete;
    StepGuard& operator=(const StepGuard&) = delete;

    Slot& slot() const { return *slot_; }
    // Whether this thread is in one of the pipeline's steps, in a function that the step calls.
    static bool inside(const Pipeline& pipeline) {
        for (const StepGuard* turn = innermost; turn; turn = turn->outer_)
            if (&turn->pipeline_ == &pipeline) return true;
        return false;
    }

  private:
    static thread_local const StepGuard* innermost;
    Pipeline& pipeline_;
    const StepGuard* const outer_;
    const bool alone_;
    Slot* slot_;
};

thread_local const Pipeline::StepGuard* Pipeline::StepGuard::innermost = nullptr;

// Notes a failure in a step with its chunk. A step that is refused as out of order notes nothing.
template <class Body>
void Pipeline::step(std::size_t index, Step before, const char* name, Body&& body, bool alone) {
    const StepGuard turn(*this, index, before, name, alone);
    try {
        body(turn.slot());
    } catch (const Error& error) {
        note_failure(turn.slot(), error.code != 0);
        throw;
    } catch (...) {
        note_failure(turn.slot(), false);
        throw;
    }
}

std::size_t Pipeline::slots() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return slots_.size();
}

std::int64_t Pipeline::chunk(std::size_t slot) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return slot < slots_.size() ? slots_[slot].chunk.load() : -1;
}

Pipeline::Slot& Pipeline::slot_at(std::size_t slot) {
    if (over_) fail(CUPOLA_ERROR_VALUE, "this pipeline has ended");
    if (slot >= slots_.size())
        fail(CUPOLA_ERROR_VALUE, "there is no slot " + std::to_string(slot) +
                                     ": the pipeline has " + std::to_string(slots_.size()));
    return slots_[slot];
}

std::size_t Pipeline::add_slot(Stream& stream, cupola_memory* const* device,
                               cupola_memory* const* staging) {
    std::vector<Buffer> buffers;
    std::size_t total = 0;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
        const HostArray& host = arrays_[i].host;
        const std::size_t bytes =
            static_cast<std::size_t>(std::min(length_, rows_)) * host.row_bytes();
        Buffer buffer{Ref<Memory>::share(unwrap(device[i])),
                      Ref<Memory>::share(unwrap(staging[i]))};
        if (!buffer.device || buffer.device->size < bytes ||
            (buffer.staging && buffer.staging->size < bytes))
            fail(CUPOLA_ERROR_VALUE, "array " + std::to_string(i) + " needs " +
                                         std::to_string(bytes) + " bytes in each slot");
        if (!buffer.staging && !host.contiguous())
            fail(CUPOLA_ERROR_VALUE,
                 "array " + std::to_string(i) + " is not in C order and needs page-locked memory");
        total += bytes;
        buffers.push_back(std::move(buffer));
    }
    const unsigned sleep = total >= sleep_bytes ? CU_EVENT_BLOCKING_SYNC : 0;
    auto done = make<Event>(stream.context, CU_EVENT_DISABLE_TIMING | sleep);
    std::lock_guard<std::mutex> lock(mutex_);
    if (over_) fail(CUPOLA_ERROR_VALUE, "this pipeline has ended");
    Slot& slot = slots_.emplace_back();
    slot.stream = Ref<Stream>::share(&stream);
    slot.done = std::move(done);
    slot.buffers = std::move(buffers);
    return slots_.size() - 1;
}

void Pipeline::set_kernel(std::size_t index, Kernel& kernel, const cupola_dimensions* dimensions,
                          const char* arguments, std::size_t count, const std::uint32_t* configs) {
    std::vector<LaunchConfig> made;
    for (std::size_t i = 0; i < count; ++i) {
        if (dimensions[i].grid[0]) kernel.check_launch(dimensions[i], nullptr);
        const char* begin = arguments + i * kernel.parameter_bytes;
        made.push_back({dimensions[i], {begin, begin + kernel.parameter_bytes}});
    }
    std::vector<std::uint32_t> config_of(configs, configs + chunks_);
    for (std::uint32_t form : config_of)
        if (form >= count) fail(CUPOLA_ERROR_VALUE, "there is no form " + std::to_string(form));
    const StepGuard turn(*this, index, Step::empty, "set its kernel", true);
    Slot& slot = turn.slot();
    slot.kernel = Ref<Kernel>::share(&kernel);
    slot.configs = std::move(made);
    slot.config_of = std::move(config_of);
}

// Copies between host arrays and page-locked memory, with several threads.
void Pipeline::stage(Slot& slot, bool inward) {
    struct Piece {
        const HostArray* host;
        char* staged;
        std::size_t base, begin, end;
    };
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
        const Array& array = arrays_[i];
        const Buffer& buffer = slot.buffers[i];
        if (!buffer.staging || !(inward ? array.input : array.output)) continue;
        const std::size_t row = array.host.row_bytes();
        const std::size_t base = static_cast<std::size_t>(slot.chunk * length_) * row;
        const std::size_t end = base + bytes_of(array, slot.chunk);
        for (std::size_t begin = base; begin < end; begin += piece_bytes)
            pieces.push_back(
                {&array.host, buffer.staged(), base, begin, std::min(begin + piece_bytes, end)});
    }
    if (pieces.empty()) return;
    std::size_t total = 0;
    for (const Piece& piece : pieces) total += piece.end - piece.begin;
    const Span span(CUPOLA_PROFILE_HOST, inward ? "fill" : "drain", nullptr, total);
    std::atomic<std::size_t> next{0};
    // Filling and draining alternate, so each may use the threads of both.
    const std::size_t threads = staging_threads(slot.stream->context.driver, 2);
    run_in_pool(std::min(pieces.size(), threads), [&](std::size_t) {
        for (std::size_t i = next++; i < pieces.size(); i = next++) {
            const Piece& p = pieces[i];
            char* const staged = p.staged + (p.begin - p.base);
            inward ? p.host->read(staged, p.begin, p.end) : p.host->write(staged, p.begin, p.end);
        }
    });
}

// Copies between the device and page-locked memory, or the host array where there is none.
void Pipeline::transfer(Slot& slot, bool inward) {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
        const Array& array = arrays_[i];
        const std::size_t bytes = bytes_of(array, slot.chunk);
        if (!(inward ? array.input : array.output) || bytes == 0) continue;
        const Buffer& buffer = slot.buffers[i];
        const char* host = buffer.staging ? buffer.staged() : array.host.row(slot.chunk * length_);
        const std::uint64_t there = reinterpret_cast<std::uintptr_t>(host);
        const std::uint64_t here = buffer.device->address;
        if (inward)
            copy_linear(here, there, bytes, CUPOLA_TO_DEVICE, *slot.stream);
        else
            copy_linear(there, here, bytes, CUPOLA_TO_HOST, *slot.stream);
    }
}

void Pipeline::fill(std::size_t index, std::int64_t chunk) {
    step(index, Step::empty, "fill", [&](Slot& slot) {
        if (chunk < 0 || chunk >= chunks_)
            fail(CUPOLA_ERROR_VALUE, "there is no chunk " + std::to_string(chunk) +
                                         ": the pipeline has " + std::to_string(chunks_));
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (begun_[static_cast<std::size_t>(chunk)])
                fail(CUPOLA_ERROR_VALUE,
                     "chunk " + std::to_string(chunk) +
                         " was processed already; each chunk is processed once");
            begun_[static_cast<std::size_t>(chunk)] = true;
        }
        slot.chunk = chunk;
        slot.step = Step::filled;
        stage(slot, true);
    });
}

void Pipeline::upload(std::size_t index) {
    step(index, Step::filled, "upload", [&](Slot& slot) {
        const ContextScope current(slot.stream->context);
        slot.step = Step::uploaded;
        transfer(slot, true);
    });
}

void Pipeline::launch(std::size_t index) {
    step(index, Step::uploaded, "launch", [&](Slot& slot) {
        const ContextScope current(slot.stream->context);
        slot.step = Step::launched;
        if (call) {
            if (call(call_data, index, slot.chunk)) throw Stopped{};
        } else if (slot.kernel) {
            const LaunchConfig& form =
                slot.configs[slot.config_of[static_cast<std::size_t>(slot.chunk)]];
            if (form.dimensions.grid[0])
                slot.kernel->launch(form.dimensions, nullptr, form.arguments.data(), *slot.stream);
        }
    });
}

void Pipeline::download(std::size_t index) {
    step(index, Step::launched, "download", [&](Slot& slot) {
        const ContextScope current(slot.stream->context);
        slot.step = Step::downloaded;
        transfer(slot, false);
        slot.launched = slot.stream->flight.head();
        CUPOLA_CALL(slot.stream->context.driver, cuEventRecord, slot.done->handle,
                    slot.stream->handle);
    });
}

bool Pipeline::ready(std::size_t index) {
    CUresult code = CUDA_SUCCESS;
    const auto ask = [&](Slot& slot) {
        const ContextScope current(slot.stream->context);
        const RelaxedCapture relaxed(slot.stream->context.driver, RelaxedCapture::any_library);
        code = slot.stream->context.driver->cuEventQuery(slot.done->handle);
        if (code != CUDA_ERROR_NOT_READY) check(slot.stream->context.driver, code, "cuEventQuery");
    };
    step(index, Step::downloaded, "ready", ask, false);
    return code == CUDA_SUCCESS;
}

void Pipeline::drain(std::size_t index) {
    step(index, Step::downloaded, "drain", [&](Slot& slot) {
        {
            const ContextScope current(slot.stream->context);
            const RelaxedCapture relaxed(slot.stream->context.driver, RelaxedCapture::any_library);
            const Span span(CUPOLA_PROFILE_WAIT, "wait for the chunk", nullptr);
            CUPOLA_CALL(slot.stream->context.driver, cuEventSynchronize, slot.done->handle);
            slot.stream->flight.done(slot.launched);
        }
        stage(slot, false);
        const std::int64_t chunk = slot.chunk;
        slot.chunk = -1;
        slot.step = Step::empty;
        count(chunk);
    });
}

void Pipeline::count(std::int64_t chunk) {
    std::int64_t rows = 0;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        rows = done_rows_ += rows_of(chunk);
        const Clock::time_point now = Clock::now();
        if (++done_chunks_ < chunks_ && now - told_ < interval) return;
        told_ = now;
    }
    if (report && report(report_data, rows)) throw Stopped{};
}

void Pipeline::run() {
    std::int64_t slots = 0;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (over_) fail(CUPOLA_ERROR_VALUE, "this pipeline has ended");
        if (slots_.empty()) fail(CUPOLA_ERROR_VALUE, "the pipeline has no slots");
        slots = static_cast<std::int64_t>(slots_.size());
    }
    // Slots in round-robin order: queued work of one slot runs while the next is filled. A slot is
    // drained before it is filled again.
    for (std::int64_t turn = 0; turn < chunks_ + slots; ++turn) {
        const auto slot = static_cast<std::size_t>(turn % slots);
        if (chunk(slot) >= 0) drain(slot);
        if (turn >= chunks_) continue;
        fill(slot, turn);
        upload(slot);
        launch(slot);
        download(slot);
    }
}

void Pipeline::finish(bool succeeded) {
    require_drivers();  // a forked child would wait for threads that don't exist in it
    if (StepGuard::inside(*this))
        fail(CUPOLA_ERROR_VALUE, "a pipeline can't be ended from one of its own steps");
    std::deque<Slot> ended;
    {
        std::unique_lock<std::mutex> lock(mutex_);
        if (over_) return idle_.wait(lock, [this] { return ended_; });
        over_ = true;
        idle_.wait(lock, [this] { return under_way_ == 0; });
        ended.swap(slots_);
    }
    // Keep the first failure as a value: std::exception_ptr needs symbols of GCC 11, and a wheel
    // must load on older systems. On any failure, other threads must not wait forever.
    std::optional<Error> failure;
    for (const Slot& slot : ended) try {
            synchronize(*slot.stream);
        } catch (...) {
            if (!failure) failure = current_error();
        }
    ended.clear();
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    idle_.notify_all();
    if (!succeeded) return;
    if (failure) throw *failure;
    if (done_chunks_ == chunks_) return;
    const auto missing = std::find(begun_.begin(), begun_.end(), false);
    fail(CUPOLA_ERROR_VALUE,
         "the schedule drained " + std::to_string(done_chunks_) + " of " + std::to_string(chunks_) +
             " chunks" +
             (missing == begun_.end()
                  ? ""
                  : "; the first missing one is " + std::to_string(missing - begun_.begin())));
}

void Pipeline::note_failure(const Slot& failed, bool of_device) noexcept {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::int64_t chunk = failed.chunk;
    if (failed_first_ >= 0 || chunk < 0) return;
    failed_first_ = failed_last_ = chunk;
    // The driver does not say which work failed: any chunk on the device may be at fault.
    const Driver* d = failed.stream->context.driver.alive();
    if (!of_device || !d || d->synchronous) return;
    for (const Slot& slot : slots_) {
        const std::int64_t other = slot.chunk;
        if (other < 0 || slot.step.load() < Step::uploaded) continue;
        if (&slot.stream->context != &failed.stream->context) continue;
        failed_first_ = std::min(failed_first_, other);
        failed_last_ = std::max(failed_last_, other);
    }
}

void Pipeline::failed(std::int64_t& first, std::int64_t& last) const {
    std::lock_guard<std::mutex> lock(mutex_);
    first = failed_first_;
    last = failed_last_;
}

}  // namespace cupola
