// csrc/cpu/device/launch/graph_memory.hpp - memory that graph nodes allocate and free.
//
// Creating the node reserves the memory and its address. Both stay while the node exists, and also
// while the memory is allocated: from the launch that allocates it until it is freed, by a graph or
// by the program. The memory is a device's, or managed.
#pragma once

#include <cstdint>
#include <memory>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/stream/pool.hpp"

namespace cupola::cpu {

class Device;
class Driver;
struct GraphMemoryTable;

class GraphMemory : public std::enable_shared_from_this<GraphMemory> {
  public:
    static std::shared_ptr<GraphMemory> make(Driver& driver, const PoolPlace& place,
                                             std::size_t size);
    // The graph memory that begins at an address; throws INVALID_VALUE if no graph memory begins
    // there.
    static std::shared_ptr<GraphMemory> at(Driver& driver, std::uintptr_t address);
    GraphMemory(Driver& driver, const PoolPlace& place, std::size_t size);
    ~GraphMemory();
    GraphMemory(const GraphMemory&) = delete;
    GraphMemory& operator=(const GraphMemory&) = delete;

    const PoolPlace& place() const { return place_; }
    std::uintptr_t address() const { return address_; }
    std::size_t size() const { return size_; }
    bool live() const;
    // `take` marks the memory allocated, `give` freed. They return false if the memory already has
    // that state.
    bool take();
    bool give();

    static cuuint64_t get(Device& device, CUgraphMem_attribute attribute);
    static void reset_high(Device& device, CUgraphMem_attribute attribute);
    // Stops counting freed memory as reserved.
    static void trim(Device& device);

  private:
    GraphMemoryTable& table() const;

    Device& device_;
    const PoolPlace place_;
    const std::size_t size_;
    std::uintptr_t address_ = 0;
    bool live_ = false;
};

}  // namespace cupola::cpu
