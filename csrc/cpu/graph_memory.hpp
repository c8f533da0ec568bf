// csrc/cpu/graph_memory.hpp - memory that a graph's nodes allocate and free.
//
// Its address is known when the node is made, and it is there from then on, for as long as the node
// is or the program has it: from a launch that allocates it to a free, in a graph or out of one.
#pragma once

#include <cstdint>
#include <memory>

#include "cpu/cuda.hpp"

namespace cupola::cpu {

class Device;

class GraphMemory : public std::enable_shared_from_this<GraphMemory> {
  public:
    static std::shared_ptr<GraphMemory> make(Device& device, std::size_t size);
    // What begins at an address; INVALID_VALUE where nothing of a graph's does.
    static std::shared_ptr<GraphMemory> at(std::uintptr_t address);
    GraphMemory(Device& device, std::size_t size);
    ~GraphMemory();
    GraphMemory(const GraphMemory&) = delete;
    GraphMemory& operator=(const GraphMemory&) = delete;

    Device& device() const { return device_; }
    std::uintptr_t address() const { return address_; }
    std::size_t size() const { return size_; }
    bool live() const;
    // A launch allocates it; a free frees it: false where it is so already.
    bool take();
    bool give();

    static cuuint64_t get(int device, CUgraphMem_attribute attribute);
    static void reset_high(int device, CUgraphMem_attribute attribute);
    // Gives up what no launch uses.
    static void trim(int device);

  private:
    Device& device_;
    const std::size_t size_;
    std::uintptr_t address_ = 0;
    bool live_ = false;
};

}  // namespace cupola::cpu
