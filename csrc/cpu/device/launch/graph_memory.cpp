// csrc/cpu/device/launch/graph_memory.cpp - existing graph memory, and the part that the program
// owns.
#include "cpu/device/launch/graph_memory.hpp"

#include <mutex>

#include "cpu/device/driver/driver.hpp"

namespace cupola::cpu {

GraphMemory::GraphMemory(Driver& driver, const PoolPlace& place, std::size_t size)
    : device_(driver.device(place.on_device() ? place.location.id : 0)),
      place_(place),
      size_(size) {
    Allocation like;
    like.kind = Allocation::Kind::graph;
    like.device = device_.ordinal();
    like.place = place.managed() ? Allocation::Place::managed : Allocation::Place::device;
    address_ = driver.memory.allocate(like, size, 0, device_.budget());
}

GraphMemory::~GraphMemory() {
    if (DriverState::get() != CUDA_SUCCESS) return;
    {
        std::lock_guard lock(table().mutex);
        table().all.erase(address_);
    }
    device_.driver().memory.release(address_, device_.budget());
}

std::shared_ptr<GraphMemory> GraphMemory::make(Driver& driver, const PoolPlace& place,
                                               std::size_t size) {
    auto memory = std::make_shared<GraphMemory>(driver, place, size);
    std::lock_guard lock(driver.graph_memory.mutex);
    driver.graph_memory.all[memory->address()] = memory;
    return memory;
}

std::shared_ptr<GraphMemory> GraphMemory::at(Driver& driver, std::uintptr_t address) {
    GraphMemoryTable& table = driver.graph_memory;
    std::lock_guard lock(table.mutex);
    const auto it = table.all.find(address);
    auto found = it == table.all.end() ? nullptr : it->second.lock();
    require(found != nullptr);
    return found;
}

GraphMemoryTable& GraphMemory::table() const { return device_.driver().graph_memory; }

bool GraphMemory::live() const {
    std::lock_guard lock(table().mutex);
    return live_;
}

bool GraphMemory::take() {
    std::lock_guard lock(table().mutex);
    if (live_) return false;
    live_ = true;
    table().live[address_] = shared_from_this();
    table().levels[device_.ordinal()].take(size_);
    return true;
}

bool GraphMemory::give() {
    std::shared_ptr<GraphMemory> last;  // released after the lock
    std::lock_guard lock(table().mutex);
    if (!live_) return false;
    live_ = false;
    const auto it = table().live.find(address_);
    last = std::move(it->second);
    table().live.erase(it);
    table().levels[device_.ordinal()].live -= size_;
    return true;
}

cuuint64_t GraphMemory::get(Device& device, CUgraphMem_attribute attribute) {
    std::lock_guard lock(device.driver().graph_memory.mutex);
    const GraphMemoryLevels& levels = device.driver().graph_memory.levels[device.ordinal()];
    switch (static_cast<int>(attribute)) {
        case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
            return levels.kept;
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
            return levels.used_high;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
            return levels.reserved_high;
        default:
            fail(CUDA_ERROR_INVALID_VALUE);
    }
}

void GraphMemory::reset_high(Device& device, CUgraphMem_attribute attribute) {
    std::lock_guard lock(device.driver().graph_memory.mutex);
    GraphMemoryLevels& levels = device.driver().graph_memory.levels[device.ordinal()];
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
        levels.used_high = levels.kept;
    else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        levels.reserved_high = levels.kept;
    else
        fail(CUDA_ERROR_INVALID_VALUE);
}

void GraphMemory::trim(Device& device) {
    std::lock_guard lock(device.driver().graph_memory.mutex);
    GraphMemoryLevels& levels = device.driver().graph_memory.levels[device.ordinal()];
    levels.kept = levels.live;
}

}  // namespace cupola::cpu
