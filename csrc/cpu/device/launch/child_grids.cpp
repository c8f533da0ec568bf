// csrc/cpu/device/launch/child_grids.cpp - orders and runs the work that a grid launches.
#include "cpu/device/launch/child_grids.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/device_graph.hpp"
#include "cpu/device/module/module.hpp"

namespace cupola::cpu {
namespace {

// The number of handles of streams that each grid has.
enum GridStream : std::uint64_t { unnamed = 0, legacy = 1, per_thread = 2, tail = 3, forget = 4 };

}  // namespace

ChildGrids::ChildGrids(std::shared_ptr<Context> context, std::shared_ptr<Module> module,
                       int priority, unsigned depth, MakeGrid make_grid,
                       std::shared_ptr<GraphRun> run)
    : context_(std::move(context)),
      module_(std::move(module)),
      priority_(priority),
      depth_(depth),
      make_grid_(make_grid),
      run_(std::move(run)),
      limit_(context_->get_limit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT)) {}

ChildGrids::~ChildGrids() {
    for (const auto& [address, buffer] : buffers_) context_->launch_heap().release(address);
    for (const auto& [text, address] : texts_) context_->launch_heap().release(address);
}

DeviceOutcome ChildGrids::call(const DeviceFunction& function, DeviceCall& call) {
    return function.run(*this, call);
}

bool ChildGrids::usable() const { return context_->alive() && context_->error() == CUDA_SUCCESS; }

int ChildGrids::last_error(const DeviceCall& call, bool reset) {
    std::lock_guard lock(mutex_);
    const auto at = errors_.find(call.block << 10 | call.thread);
    if (at == errors_.end()) return runtime_error::success;
    const int code = at->second;
    if (reset) errors_.erase(at);
    return code;
}

void ChildGrids::set_error(const DeviceCall& call, int error) {
    std::lock_guard lock(mutex_);
    errors_[call.block << 10 | call.thread] = error;
}

std::uintptr_t ChildGrids::device_text(const char* text) {
    std::lock_guard lock(mutex_);
    std::uintptr_t& address = texts_[text];
    if (address != 0) return address;
    const std::size_t bytes = std::strlen(text) + 1;
    address = context_->launch_heap().allocate(bytes);
    if (address == 0) {
        texts_.erase(text);
        return 0;
    }
    std::memcpy(reinterpret_cast<void*>(address), text, bytes);
    context_->driver().memory.wrote(address, bytes);
    return address;
}

std::shared_ptr<Function> ChildGrids::kernel_at(std::uint64_t address) const {
    // The module is null if it was unloaded before the launch, by a graph that outlives it.
    auto function = module_ ? module_->function_at(address) : nullptr;
    require(function != nullptr, runtime_error::invalid_device_function);
    return function;
}

std::uintptr_t ChildGrids::make_buffer(std::uint64_t bytes) {
    require(bytes <= Heap::max_arguments, runtime_error::invalid_value);
    const std::uintptr_t address =
        context_->launch_heap().allocate(std::max<std::uint64_t>(bytes, 1));
    require(address != 0, runtime_error::launch_pending_count_exceeded);
    std::lock_guard lock(mutex_);
    buffers_[address].bytes = bytes;
    return address;
}

std::pair<std::uintptr_t, std::uint64_t> ChildGrids::make_buffer(std::uint64_t kernel,
                                                                 const LaunchShape& shape) {
    auto function = kernel_at(kernel);
    kernel_call(function, shape, context_);
    const std::uint64_t bytes = function->parameter_bytes();
    const std::uintptr_t address = make_buffer(bytes);
    std::lock_guard lock(mutex_);
    buffers_[address] = {bytes, std::move(function), shape};
    return {address, bytes};
}

ChildGrids::Buffer ChildGrids::take_buffer(std::uintptr_t address, std::vector<std::byte>& bytes) {
    Buffer buffer;
    {
        std::lock_guard lock(mutex_);
        const auto at = buffers_.find(address);
        require(at != buffers_.end(), runtime_error::invalid_value);
        buffer = std::move(at->second);
        buffers_.erase(at);
    }
    bytes.resize(buffer.bytes);
    if (buffer.bytes) std::memcpy(bytes.data(), reinterpret_cast<void*>(address), buffer.bytes);
    context_->launch_heap().release(address);
    return buffer;
}

void ChildGrids::launch(std::uint64_t block, std::uintptr_t address, std::uint64_t stream) {
    std::vector<std::byte> parameters;
    Buffer buffer = take_buffer(address, parameters);
    require(buffer.function != nullptr, runtime_error::invalid_value);
    launch(block, std::move(buffer.function), buffer.shape, std::move(parameters), stream);
}

void ChildGrids::launch(std::uint64_t block, std::uint64_t kernel, const LaunchShape& shape,
                        std::uintptr_t address, std::uint64_t stream) {
    auto function = kernel_at(kernel);
    std::vector<std::byte> parameters;
    // A kernel without parameters needs no buffer.
    if (address != 0 || function->parameter_bytes() != 0) take_buffer(address, parameters);
    require(parameters.size() >= function->parameter_bytes(), runtime_error::invalid_value);
    parameters.resize(function->parameter_bytes());
    launch(block, std::move(function), shape, std::move(parameters), stream);
}

void ChildGrids::launch(std::uint64_t block, std::shared_ptr<Function> function,
                        const LaunchShape& shape, std::vector<std::byte> parameters,
                        std::uint64_t stream) {
    KernelCall call = kernel_call(std::move(function), shape, context_);
    call.parameters = std::move(parameters);
    // A grid ends after its children, so each level of nesting is a launch that is not complete.
    // A tail launch follows its grid, so a chain of tail launches has no depth.
    const unsigned depth = stream == GridStream::tail ? depth_ : depth_ + 1;
    require(depth <= limit_, runtime_error::launch_pending_count_exceeded);
    require(depth <= max_depth, runtime_error::launch_max_depth_exceeded);
    add(block, stream, make_grid_(std::move(call), priority_, depth));
}

// The graph runs concurrently with the streams of the grid.
void ChildGrids::launch_graph(std::uint64_t block, std::uint64_t graph, std::uint64_t stream) {
    require(run_ != nullptr, runtime_error::not_permitted);
    const auto exec = context_->driver().graph_execs.find(reinterpret_cast<const void*>(graph));
    require(exec != nullptr && exec->device() != nullptr, runtime_error::invalid_value);
    add(block, GridStream::forget, run_->launch(*exec->device(), stream));
}

void ChildGrids::add(std::uint64_t block, std::uint64_t stream, std::unique_ptr<Operation> work) {
    std::lock_guard lock(mutex_);
    Item item;
    item.block = block;
    item.work = std::move(work);
    if (stream == GridStream::tail) {
        // Other work may run at once, so on a GPU only tail launches reach the limit.
        require(tails_.size() < limit_, runtime_error::launch_pending_count_exceeded);
        tails_.push_back(std::move(item.work));
    } else if (stream == GridStream::forget) {
        append(nullptr, std::move(item));
    } else {
        const StreamKey key = key_of(block, stream);
        append(&key, std::move(item));
    }
}

ChildGrids::StreamKey ChildGrids::key_of(std::uint64_t block, std::uint64_t stream) const {
    if (stream == GridStream::unnamed || stream == GridStream::legacy ||
        stream == GridStream::per_thread)
        return {false, block};
    require(streams_.count(stream) != 0, runtime_error::invalid_resource_handle);
    return {true, stream};
}

std::size_t ChildGrids::append(const StreamKey* stream, Item item) {
    const std::size_t index = items_.size();
    if (stream) {
        const auto [last, first] = last_.emplace(*stream, index);
        if (!first) item.earlier = std::exchange(last->second, index);
    }
    items_.push_back(std::move(item));
    return index;
}

std::uint64_t ChildGrids::create_stream() {
    std::lock_guard lock(mutex_);
    streams_.emplace(++last_handle_, none);
    return last_handle_;
}

// Work that is already in the destroyed stream still runs.
void ChildGrids::destroy_stream(std::uint64_t stream) {
    std::lock_guard lock(mutex_);
    require(streams_.erase(stream) != 0, runtime_error::invalid_resource_handle);
}

std::uint64_t ChildGrids::create_event() {
    std::lock_guard lock(mutex_);
    events_.emplace(++last_handle_, none);
    return last_handle_;
}

void ChildGrids::destroy_event(std::uint64_t event) {
    std::lock_guard lock(mutex_);
    require(events_.erase(event) != 0, runtime_error::invalid_resource_handle);
}

void ChildGrids::record(std::uint64_t block, std::uint64_t event, std::uint64_t stream) {
    add_mark(block, stream, event, [](Item&, std::size_t& last, std::size_t mark) { last = mark; });
}

void ChildGrids::wait(std::uint64_t block, std::uint64_t stream, std::uint64_t event) {
    add_mark(block, stream, event,
             [](Item& item, std::size_t& last, std::size_t) { item.awaited = last; });
}

// Appends an item without work to the stream. `use` gets the item, and the event's last record.
template <class Use>
void ChildGrids::add_mark(std::uint64_t block, std::uint64_t stream, std::uint64_t event, Use use) {
    std::lock_guard lock(mutex_);
    require(stream != GridStream::tail && stream != GridStream::forget,
            runtime_error::invalid_value);
    const auto at = events_.find(event);
    require(at != events_.end(), runtime_error::invalid_resource_handle);
    const StreamKey key = key_of(block, stream);
    Item item;
    item.block = block;
    const std::size_t mark = append(&key, std::move(item));
    use(items_[mark], at->second, mark);
}

void ChildGrids::run() {
    std::vector<std::size_t> order(items_.size());
    for (std::size_t n = 0; n < order.size(); ++n) order[n] = n;
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
        return std::pair(items_[a].block, a) < std::pair(items_[b].block, b);
    });
    run_items(std::move(order));
}

void ChildGrids::run_block(std::uint64_t block) {
    std::vector<std::size_t> mine;
    {
        std::lock_guard lock(mutex_);
        for (std::size_t n = 0; n < items_.size(); ++n)
            if (items_[n].block == block && !items_[n].done) mine.push_back(n);
    }
    run_items(std::move(mine));
}

void ChildGrids::run_items(std::vector<std::size_t> items) {
    std::lock_guard lock(running_);
    for (const std::size_t index : items) {
        if (!usable()) return;
        run_item(index);
    }
}

// Runs an item after the items that it needs. Those items were added earlier, so no circle of waits
// arises.
void ChildGrids::run_item(std::size_t index) {
    std::vector<std::size_t> stack{index};
    while (!stack.empty() && usable()) {
        std::unique_ptr<Operation> work;
        {
            std::lock_guard lock(mutex_);
            Item& item = items_[stack.back()];
            const std::size_t size = stack.size();
            for (const std::size_t before : {item.earlier, item.awaited})
                if (before != none && !items_[before].done) stack.push_back(before);
            if (stack.size() != size) continue;
            work = std::move(item.work);
            item.done = true;
            stack.pop_back();
        }
        if (work) work->run(CUDA_SUCCESS);
    }
}

std::vector<std::unique_ptr<Operation>> ChildGrids::take_tails() { return std::move(tails_); }

}  // namespace cupola::cpu
