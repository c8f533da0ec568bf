// csrc/cpu/device/stream/pool.cpp - allocates and frees memory of a pool in stream order.
#include "cpu/device/stream/pool.hpp"

#include <algorithm>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/stream/stream.hpp"

namespace cupola::cpu {
namespace {

// A reused piece is at most a quarter larger than needed, so that reuse wastes little.
std::uintptr_t take_fitting(std::multimap<std::size_t, std::uintptr_t>& blocks, std::size_t size) {
    const auto it = blocks.lower_bound(size);
    if (it == blocks.end() || it->first > size + size / 4 + MemoryMap::alignment) return 0;
    const std::uintptr_t begin = it->second;
    blocks.erase(it);
    return begin;
}

// In the file of a shareable pool, in place of a device's ordinal: the pool is of the host.
constexpr int host_node = -1;

PoolPlace place_of(const Device& device) {
    PoolPlace place;
    place.location.id = device.ordinal();
    return place;
}

std::size_t device_index(const PoolPlace& place) {
    return static_cast<std::size_t>(place.location.id);
}

// The pools of a place other than device memory. Needs the lock of the driver's table.
PoolTable::Pools& pools_of(Driver& driver, const PoolPlace& place) {
    PoolTable::Pools& found = driver.pools_by_place.all[place];
    if (!found.first) found.first = found.current = Pool::make(driver, place, 0, true);
    return found;
}

bool of_device(const PoolPlace& place) { return place.on_device() && !place.managed(); }

void erase_block(std::multimap<std::size_t, std::uintptr_t>& blocks, std::size_t capacity,
                 std::uintptr_t begin) {
    const auto [first, last] = blocks.equal_range(capacity);
    for (auto it = first; it != last; ++it) {
        if (it->second != begin) continue;
        blocks.erase(it);
        return;
    }
}

}  // namespace

std::shared_ptr<Pool> Pool::make(Driver& driver, const PoolPlace& place, std::size_t limit,
                                 bool is_default) {
    Device& device = *driver.devices[place.on_device() ? device_index(place) : 0];
    auto pool = std::make_shared<Pool>(device, place, limit, is_default);
    driver.pools.add(pool);
    return pool;
}

std::shared_ptr<Pool> Pool::make_shareable(Driver& driver, const PoolPlace& place,
                                           std::size_t limit) {
    Device& device = *driver.devices[place.on_device() ? device_index(place) : 0];
    auto file = SharedFile::make(SharedFile::Use::pool, sizeof(SharedFile::Number),
                                 place.on_device() ? device.ordinal() : host_node);
    auto pool = std::make_shared<Pool>(device, place, limit, false, std::move(file));
    driver.pools.add(pool);
    return pool;
}

std::shared_ptr<Pool> Pool::open(Driver& driver, int descriptor) {
    auto file = SharedFile::adopt(SharedFile::Use::pool, descriptor);
    // The other process may have more devices than this one.
    const auto& devices = driver.devices;
    const auto ordinal = static_cast<std::size_t>(file->device());
    Device& device = *devices[ordinal < devices.size() ? ordinal : 0];
    PoolPlace place = place_of(device);
    if (file->device() == host_node) place.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
    auto pool = std::make_shared<Pool>(device, place, 0, false, std::move(file), true);
    driver.pools.add(pool);
    return pool;
}

std::shared_ptr<Pool> Pool::default_of(Driver& driver, const PoolPlace& place) {
    if (of_device(place)) return driver.device(place.location.id).default_pool();
    std::lock_guard lock(driver.pools_by_place.mutex);
    return pools_of(driver, place).first;
}

std::shared_ptr<Pool> Pool::current_of(Driver& driver, const PoolPlace& place) {
    if (of_device(place)) return driver.device(place.location.id).pool();
    std::lock_guard lock(driver.pools_by_place.mutex);
    return pools_of(driver, place).current;
}

void Pool::set_current(std::shared_ptr<Pool> pool) {
    const PoolPlace place = pool->place();
    if (of_device(place)) {
        Device& device = pool->device();
        return device.set_pool(std::move(pool));
    }
    Driver& driver = pool->device().driver();
    std::lock_guard lock(driver.pools_by_place.mutex);
    pools_of(driver, place).current = std::move(pool);
}

Budget& Pool::budget() const {
    return place_.on_device() || place_.managed() ? device_.budget() : device_.driver().host_memory;
}

void Pool::open(bool access) {
    if (place_.managed() || place_.on_device()) return;
    std::lock_guard lock(mutex_);
    if (open_.exchange(access) == access) return;
    for (const auto& [begin, block] : blocks_) device_.driver().memory.open_pooled(begin, access);
}

void Pool::retire() {
    std::lock_guard lock(mutex_);
    if (used_ > 0) self_ = shared_from_this();
}

// Needs the lock. The caller must destroy the result after it has released the lock.
std::shared_ptr<Pool> Pool::release_self_if_unused() {
    return used_ == 0 ? std::move(self_) : std::shared_ptr<Pool>();
}

Pool::~Pool() {
    if (DriverState::get() != CUDA_SUCCESS) return;
    drop_spare(0);
}

std::uintptr_t Pool::reuse(Stream& stream, std::size_t size) {
    std::uintptr_t begin = 0;
    const auto mine = pending_.find(&stream);
    // Under the checks, memory that kernels may still use is not reused.
    if (mine != pending_.end() && !device_.driver().memory.exact())
        begin = take_fitting(mine->second, size);
    if (!begin) begin = take_fitting(spare_, size);
    return begin;
}

std::uintptr_t Pool::allocate(Stream& stream, std::size_t size) {
    require(!imported_);
    MemoryMap& memory = device_.driver().memory;
    const std::size_t capacity =
        (size + MemoryMap::alignment - 1) / MemoryMap::alignment * MemoryMap::alignment;
    require(capacity >= size, CUDA_ERROR_OUT_OF_MEMORY);
    std::unique_lock lock(mutex_);
    std::uintptr_t begin = reuse(stream, capacity);
    for (int attempt = 0; !begin; ++attempt) {
        Allocation like;
        like.kind = Allocation::Kind::pool;
        like.device = device_.ordinal();
        like.pool = this;
        like.shareable = file_ != nullptr;
        like.open = open_;
        like.place = place_.managed()     ? Allocation::Place::managed
                     : place_.on_device() ? Allocation::Place::device
                                          : Allocation::Place::host;
        try {
            require(!limit_ || reserved_ + capacity <= limit_, CUDA_ERROR_OUT_OF_MEMORY);
            begin = memory.allocate(like, capacity, MemoryMap::alignment, budget());
        } catch (const Failure&) {
            // First release spare memory, then wait for pending frees, which may be enough.
            if (attempt == 2) throw;
            if (attempt == 1) {
                lock.unlock();
                synchronize(*stream.context_pointer());
                lock.lock();
            }
            drop_spare(0);
            continue;
        }
        blocks_[begin].capacity = capacity;
        reserved_ += capacity;
        reserved_high_ = std::max(reserved_high_, reserved_);
    }
    Block& block = blocks_.at(begin);
    block.used = true;
    block.pending = nullptr;
    ++block.turn;
    used_ += block.capacity;
    used_high_ = std::max(used_high_, used_);
    memory.hand_out(begin, size, stream.context());
    return begin;
}

void Pool::free_on(Stream& stream, std::uintptr_t begin) {
    const auto keep = shared_from_this();
    std::uint64_t turn;
    std::shared_ptr<Pool> last;
    {
        std::lock_guard lock(mutex_);
        const auto it = blocks_.find(begin);
        require(it != blocks_.end() && it->second.used);
        Block& block = it->second;
        block.used = false;
        block.pending = &stream;
        turn = ++block.turn;
        used_ -= block.capacity;
        last = release_self_if_unused();
        device_.driver().memory.take_back(begin);
    }
    // Becomes reusable only after the free is submitted, so that the stream's order protects it.
    stream.submit(
        task([self = shared_from_this(), begin, turn](CUresult) { self->reached(begin, turn); }));
    std::lock_guard lock(mutex_);
    const auto it = blocks_.find(begin);
    if (it != blocks_.end() && it->second.turn == turn && it->second.pending == &stream)
        pending_[&stream].emplace(it->second.capacity, begin);
}

// The stream has reached the free. The memory becomes spare, unless the stream has reused it.
void Pool::reached(std::uintptr_t begin, std::uint64_t turn) {
    std::lock_guard lock(mutex_);
    const auto it = blocks_.find(begin);
    if (it == blocks_.end() || it->second.turn != turn) return;
    Block& block = it->second;
    if (const auto mine = pending_.find(block.pending); mine != pending_.end()) {
        erase_block(mine->second, block.capacity, begin);
        if (mine->second.empty()) pending_.erase(mine);
    }
    block.pending = nullptr;
    device_.driver().memory.withdraw(begin);
    spare_.emplace(block.capacity, begin);
}

void Pool::free_now(std::uintptr_t begin) {
    const auto keep = shared_from_this();
    std::shared_ptr<Pool> last;
    std::lock_guard lock(mutex_);
    const auto it = blocks_.find(begin);
    require(it != blocks_.end() && it->second.used);
    it->second.used = false;
    ++it->second.turn;
    used_ -= it->second.capacity;
    last = release_self_if_unused();
    device_.driver().memory.take_back(begin);
    device_.driver().memory.withdraw(begin);
    spare_.emplace(it->second.capacity, begin);
}

void Pool::drop_spare(std::size_t keep) {
    while (reserved_ > keep && !spare_.empty()) {
        const auto largest = std::prev(spare_.end());
        const auto [capacity, begin] = *largest;
        spare_.erase(largest);
        blocks_.erase(begin);
        reserved_ -= capacity;
        device_.driver().memory.release(begin, budget());
    }
}

void Pool::trim(std::size_t keep) {
    std::lock_guard lock(mutex_);
    drop_spare(keep);
}

void Pool::settle() {
    std::lock_guard lock(mutex_);
    if (reserved_ > threshold_) drop_spare(threshold_);
}

void Pool::get(CUmemPool_attribute attribute, void* value) {
    std::lock_guard lock(mutex_);
    const auto integer = [&](int it) { *static_cast<int*>(value) = it; };
    const auto bytes = [&](std::uint64_t it) { *static_cast<cuuint64_t*>(value) = it; };
    switch (static_cast<int>(attribute)) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
            return integer(follow_events_);
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
            return integer(opportunistic_);
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            return integer(internal_dependencies_);
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            return bytes(threshold_);
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
            return bytes(reserved_);
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            return bytes(reserved_high_);
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
            return bytes(used_);
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            return bytes(used_high_);
        default:
            fail(CUDA_ERROR_INVALID_VALUE);
    }
}

void Pool::set(CUmemPool_attribute attribute, const void* value) {
    std::lock_guard lock(mutex_);
    const auto flag = [&](int& it) { it = *static_cast<const int*>(value) != 0; };
    const auto bytes = [&] { return *static_cast<const cuuint64_t*>(value); };
    switch (static_cast<int>(attribute)) {
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
            return flag(follow_events_);
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
            return flag(opportunistic_);
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            return flag(internal_dependencies_);
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            threshold_ = bytes();
            return;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:  // a high-water mark can only be reset
            require(bytes() == 0);
            reserved_high_ = reserved_;
            return;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            require(bytes() == 0);
            used_high_ = used_;
            return;
        default:
            fail(CUDA_ERROR_INVALID_VALUE);
    }
}

}  // namespace cupola::cpu
