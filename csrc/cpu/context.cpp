// csrc/cpu/context.cpp - opens and closes contexts, their streams, and the stack of each thread.
#include "cpu/context.hpp"

#include <algorithm>

#include "cpu/array.hpp"
#include "cpu/driver.hpp"
#include "cpu/event.hpp"
#include "cpu/log.hpp"
#include "cpu/module.hpp"
#include "cpu/stream.hpp"

namespace cupola::cpu {
namespace {

std::uint64_t next_context_id() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

// A thread's per-thread stream in each context.
struct ThreadStream {
    const Context* context;
    std::uint64_t generation;
    std::shared_ptr<Stream> stream;
};
thread_local std::vector<ThreadStream> thread_streams;

std::unique_ptr<Operation> waiting_for(Mark work) {
    auto operation = task([](CUresult) {});
    operation->waits.push_back(std::move(work));
    return operation;
}

}  // namespace

Context::Context(Device& device, unsigned flags, bool primary)
    : device_(device), primary_(primary), id_(next_context_id()) {
    this->flags = flags;
}

void Context::open(unsigned with) {
    flags = with;
    error_ = CUDA_SUCCESS;
    peers = 0;
    cache_config = CU_FUNC_CACHE_PREFER_NONE;
    shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    heap_.reset();
    std::lock_guard lock(mutex_);
    std::fill(std::begin(limits_), std::end(limits_), 0);
    limits_[CU_LIMIT_STACK_SIZE] = 1024;
    limits_[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    limits_[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    limits_[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    limits_[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
    limits_[CU_LIMIT_SHMEM_SIZE] =
        static_cast<std::size_t>(device_.capability().shared_per_block_optin);
    streams_.clear();
    ++generation_;
    legacy_ = std::make_shared<Stream>(shared_from_this(), 0u, 0, Stream::Kind::legacy);
    alive_.store(true, std::memory_order_release);
}

// Stops running work and drops queued work, so that this returns soon.
void Context::close() {
    if (!alive_.exchange(false)) return;
    Driver& driver = Driver::get();
    driver.scheduler.stop(*this);
    for (auto& stream : streams()) stream->wait(stream->submitted());
    const auto mine = [this](const auto& object) { return object.context() == this; };
    driver.streams.remove_if(mine);
    driver.events.remove_if(mine);
    Module::close_all(*this);
    driver.textures.close(*this);
    driver.mipmapped_arrays.remove_if(mine);
    driver.arrays.remove_if(mine);
    for (const Allocation& allocation : driver.memory.owned_by(this)) {
        if (allocation.kind == Allocation::Kind::registered)
            driver.memory.remove_registered(allocation.begin);
        else
            driver.memory.release(allocation.begin, driver.budget(allocation));
    }
    std::lock_guard lock(mutex_);
    legacy_.reset();
    before_ = {};
    streams_.clear();
}

void Context::poison(CUresult code, std::string text) {
    int none = CUDA_SUCCESS;
    if (!error_.compare_exchange_strong(none, code)) return;
    Log::get().error(text);
    Driver::get().set_last_fault(std::move(text));
}

std::shared_ptr<Stream> Context::legacy() {
    std::lock_guard lock(mutex_);
    require(legacy_ != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return legacy_;
}

std::shared_ptr<Stream> Context::per_thread() {
    std::uint64_t generation;
    {
        std::lock_guard lock(mutex_);
        generation = generation_;
    }
    for (auto& mine : thread_streams) {
        if (mine.context != this) continue;
        if (mine.generation != generation) {
            mine.generation = generation;
            mine.stream =
                std::make_shared<Stream>(shared_from_this(), 0u, 0, Stream::Kind::per_thread);
            add(mine.stream);
        }
        return mine.stream;
    }
    auto stream = std::make_shared<Stream>(shared_from_this(), 0u, 0, Stream::Kind::per_thread);
    add(stream);
    thread_streams.push_back({this, generation, stream});
    return stream;
}

void Context::add(const std::shared_ptr<Stream>& stream) {
    Mark before;
    {
        std::lock_guard lock(mutex_);
        streams_.erase(std::remove_if(streams_.begin(), streams_.end(),
                                      [](const auto& weak) { return weak.expired(); }),
                       streams_.end());
        streams_.push_back(stream);
        if (before_.stream && before_.stream->done(before_.ticket)) before_ = {};
        before = before_;
    }
    if (before.stream) stream->submit(waiting_for(std::move(before)));
}

void Context::begin_behind(Mark work) {
    {
        std::lock_guard lock(mutex_);
        if (before_.stream) work.stream->submit(waiting_for(before_));  // new streams wait for both
        work.ticket = work.stream->submitted();
        before_ = work;
    }
    for (const auto& stream : streams()) stream->submit(waiting_for(work));
}

std::vector<std::shared_ptr<Stream>> Context::streams() {
    std::vector<std::shared_ptr<Stream>> all;
    std::lock_guard lock(mutex_);
    if (legacy_) all.push_back(legacy_);
    for (auto& weak : streams_)
        if (auto stream = weak.lock()) all.push_back(std::move(stream));
    return all;
}

void Context::synchronize() {
    for (auto& stream : streams()) stream->wait(stream->submitted());
}

std::size_t Context::get_limit(CUlimit limit) {
    std::lock_guard lock(mutex_);
    return limits_[limit];
}

void Context::set_limit(CUlimit limit, std::size_t value) {
    std::lock_guard lock(mutex_);
    limits_[limit] = value;
}

std::shared_ptr<Context> Context::from(CUcontext handle) {
    if (!handle) return current();
    return Driver::get().contexts.get(handle, CUDA_ERROR_INVALID_CONTEXT);
}

const std::shared_ptr<Context>& Context::current() {
    const auto& mine = stack();
    require(!mine.empty() && mine.back() != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    return mine.back();
}

std::vector<std::shared_ptr<Context>>& Context::stack() {
    thread_local std::vector<std::shared_ptr<Context>> contexts;
    return contexts;
}

void Context::check_flags(unsigned flags) {
    require((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) == 0);
    const unsigned schedule = flags & CU_CTX_SCHED_MASK;
    require(schedule == CU_CTX_SCHED_AUTO || schedule == CU_CTX_SCHED_SPIN ||
            schedule == CU_CTX_SCHED_YIELD || schedule == CU_CTX_SCHED_BLOCKING_SYNC);
}

}  // namespace cupola::cpu
