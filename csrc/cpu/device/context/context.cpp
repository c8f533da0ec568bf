// csrc/cpu/device/context/context.cpp - the state of contexts, and the stack of each thread.
#include "cpu/device/context/context.hpp"

#include <algorithm>

#include "cpu/device/base/log.hpp"
#include "cpu/device/driver/driver.hpp"

namespace cupola::cpu {
namespace {

// A buffer lasts from cudaGetParameterBuffer* to the launch, so there are few at a time.
constexpr std::size_t launch_heap_bytes = 16 << 20;

}  // namespace

Context::Context(Device& device, unsigned flags, bool primary)
    : device_(device), primary_(primary), id_(++device.driver().last_context_id) {
    this->flags = flags;
}

void Context::open(unsigned with, std::shared_ptr<Stream> legacy) {
    flags = with;
    error_ = CUDA_SUCCESS;
    peers = 0;
    cache_config = CU_FUNC_CACHE_PREFER_NONE;
    shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    heap_.reset();
    launch_heap_.reset();
    {
        std::lock_guard lock(mutex_);
        std::fill(std::begin(limits_), std::end(limits_), 0);
        limits_[CU_LIMIT_STACK_SIZE] = 1024;
        limits_[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
        limits_[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
        limits_[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
        limits_[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
        limits_[CU_LIMIT_SHMEM_SIZE] =
            static_cast<std::size_t>(device_.capability().shared_per_block_optin);
        heap_.set_limit(limits_[CU_LIMIT_MALLOC_HEAP_SIZE]);
        launch_heap_.set_limit(launch_heap_bytes);
    }
    std::lock_guard lock(streams_.mutex);
    streams_.others.clear();
    ++streams_.generation;
    streams_.legacy = std::move(legacy);
    alive_.store(true, std::memory_order_release);
}

bool Context::begin_close() { return alive_.exchange(false); }

void Context::end_close() {
    std::lock_guard lock(streams_.mutex);
    streams_.legacy.reset();
    streams_.before = {};
    streams_.others.clear();
}

void Context::poison(CUresult code, std::string text, std::string assertion) {
    int none = CUDA_SUCCESS;
    if (!error_.compare_exchange_strong(none, code)) return;
    Log::get().error(text);
    driver().set_last_fault(std::move(text), std::move(assertion));
}

std::shared_ptr<Stream> Context::legacy() {
    std::lock_guard lock(streams_.mutex);
    require(streams_.legacy != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return streams_.legacy;
}

std::vector<std::shared_ptr<Stream>> Context::streams() {
    std::vector<std::shared_ptr<Stream>> all;
    std::lock_guard lock(streams_.mutex);
    if (streams_.legacy) all.push_back(streams_.legacy);
    for (auto& weak : streams_.others)
        if (auto stream = weak.lock()) all.push_back(std::move(stream));
    return all;
}

std::size_t Context::get_limit(CUlimit limit) {
    std::lock_guard lock(mutex_);
    return limits_[limit];
}

void Context::set_limit(CUlimit limit, std::size_t value) {
    std::lock_guard lock(mutex_);
    limits_[limit] = value;
    if (limit == CU_LIMIT_MALLOC_HEAP_SIZE) heap_.set_limit(value);
}

CUcontext CurrentContext::handle() const { return view ? view->handle() : context->handle(); }

const std::shared_ptr<Context>& Context::current() {
    const auto& mine = stack();
    require(!mine.empty() && mine.back().context != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    return mine.back().context;
}

std::vector<CurrentContext>& Context::stack() {
    thread_local std::vector<CurrentContext> contexts;
    return contexts;
}

void Context::check_flags(unsigned flags) {
    require((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) == 0);
    const unsigned schedule = flags & CU_CTX_SCHED_MASK;
    require(schedule == CU_CTX_SCHED_AUTO || schedule == CU_CTX_SCHED_SPIN ||
            schedule == CU_CTX_SCHED_YIELD || schedule == CU_CTX_SCHED_BLOCKING_SYNC);
}

}  // namespace cupola::cpu
