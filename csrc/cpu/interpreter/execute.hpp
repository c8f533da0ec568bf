// csrc/cpu/interpreter/execute.hpp - the interface between the driver half of the CPU device
// (devices, streams, memory, scheduler) and the half that executes PTX.
//
// Every pointer in device code is a host address. Shared and local memory also have host addresses,
// so a generic pointer needs no tag. Each access looks its address up first: in the shared memory
// of the block and its cluster, in the thread's local memory, and then in AddressSpace.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/base/checks.hpp"
#include "cpu/base/fault.hpp"
#include "cpu/base/range.hpp"
#include "cpu/base/texture.hpp"

namespace cupola::cpu {

namespace observe {
class GridObserver;
}
namespace sanitizer {
class Unwritten;
}

class SeededOrder;
class DeviceRuntime;

struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
};

// The current global memory; the driver's memory map implements this class. A range stays mapped
// until the grid that looked up the range has ended, so the grid may cache the range.
class AddressSpace {
  public:
    virtual ~AddressSpace() = default;
    virtual Range find(std::uintptr_t address) const = 0;  // empty if nothing is mapped
    // Describes the nearest allocation to an address.
    virtual std::string fault_location(std::uintptr_t address) const = 0;
};

// The heap of malloc and free in device code. Thread-safe.
class DeviceHeap {
  public:
    virtual ~DeviceHeap() = default;
    virtual std::uintptr_t allocate(std::uint64_t bytes) = 0;  // 0 if no memory is left
    virtual bool release(std::uintptr_t address) = 0;  // false if no allocation begins there
};

struct Fault {
    using Kind = FaultKind;
    Kind kind;
    std::string text;  // one line: kernel, block, thread, PTX line, address
    // For a failed assertion, one line for each of these: file, line, function, block, thread,
    // kernel, expression.
    std::string assertion = {};
};

struct Parameter {
    std::uint32_t offset = 0, size = 0, align = 1;
};

struct Variable {
    std::string name;
    std::uintptr_t address = 0;
    std::size_t size = 0;
    bool constant = false, managed = false;
    // For a texture, sampler or surface, the address is the handle in device code.
    enum class Role : std::uint8_t { data, texture, sampler, surface } role = Role::data;
};

// A decoded kernel. Its Image owns it; it is immutable and thread-safe.
class Kernel {
  public:
    virtual ~Kernel() = default;
    virtual const std::string& name() const = 0;
    virtual const std::vector<Parameter>& parameters() const = 0;
    virtual std::uint32_t static_shared_bytes() const = 0;
    virtual std::uint32_t local_bytes() const = 0;     // for each thread
    virtual std::uint32_t constant_bytes() const = 0;  // of the module
    virtual std::uint32_t registers() const = 0;    // 32-bit registers for each thread, at most 255
    virtual std::uint32_t max_threads() const = 0;  // product of .maxntid or .reqntid, or 1024
    virtual Dim3 required_block() const = 0;        // .reqntid, or zeros
    virtual Dim3 required_cluster() const = 0;      // .reqnctapercluster, or zeros
    virtual std::uint32_t max_cluster() const = 0;  // .maxclusterrank in blocks, or 0
    virtual bool explicit_cluster() const = 0;      // .explicitcluster
    virtual int ptx_version() const = 0;            // major * 10 + minor
    virtual int target() const = 0;                 // 75 for sm_75
    virtual bool uses_device_runtime() const = 0;
    virtual bool launches_work() const = 0;  // kernels, copies or fills: dynamic parallelism
    virtual bool launches_graphs() const = 0;
    // Whether a thread may execute an instruction several times: loops or recursion. Without that,
    // a block cannot wait for another block.
    virtual bool has_loops() const = 0;

    // The last measured time of a cluster; the scheduler uses it.
    mutable std::atomic<float> seconds_per_cluster{0};
};

// A PTX module bound to memory: variables placed and initialised, kernels decoded.
class Image {
  public:
    // Memory for module variables: zeroed, accessible to device code, freed by `release`.
    struct Memory {
        std::function<void*(std::size_t size, std::size_t align)> allocate;
        std::function<void(void*)> release;
    };
    // Throws cupola::ptx::Error (csrc/ptx/error.hpp).
    static std::unique_ptr<Image> build(std::string_view ptx, Memory memory);

    virtual ~Image() = default;
    virtual const std::vector<const Kernel*>& kernels() const = 0;
    virtual const Kernel* kernel(std::string_view name) const = 0;  // nullptr if there is none
    // The name of the kernel with this address in device code; empty if no kernel has this address.
    virtual std::string kernel_at(std::uint64_t address) const = 0;
    virtual const std::vector<Variable>& variables() const = 0;
    virtual const Variable* variable(std::string_view name) const = 0;  // nullptr if there is none
};

// One launch, shared by the workers that run its blocks. The scheduler keeps it alive until the
// last block has ended.
struct Launch {
    const Kernel* kernel = nullptr;
    Dim3 grid, block, cluster;
    bool explicit_cluster = false;  // the program or the kernel gave the cluster's shape
    // All blocks run concurrently and may wait for each other, so each block yields to the other
    // blocks.
    bool cooperative = false;
    std::uint32_t dynamic_shared = 0;
    std::vector<std::byte> parameters;  // laid out by the kernel's Parameter offsets
    const AddressSpace* memory = nullptr;
    DeviceHeap* heap = nullptr;
    DeviceRuntime* runtime = nullptr;             // only if the kernel uses it
    const std::atomic<bool>* stop = nullptr;      // checked at backward branches and barriers
    std::function<void(std::string_view)> print;  // device printf, with a formatted string
    // Takes a cluster that has not begun, which then never runs. Nothing: none is left.
    std::function<std::optional<std::uint64_t>()> cancel;
    std::function<void()> tick;  // called every few milliseconds while blocks are interpreted
    std::uint64_t grid_id = 0;
    std::uint64_t graph_exec = 0;  // the device graph that contains the launch
    std::shared_ptr<const TextureSpace> textures;
    Checks checks;
    std::vector<std::shared_ptr<observe::GridObserver>> observers;
    sanitizer::Unwritten* unwritten = nullptr;  // in global memory
    // The bindings of the module's texture and surface variables at the launch.
    std::vector<std::pair<std::uint64_t, std::shared_ptr<const Texture>>> references;
    std::uint32_t coverage_context = 0;
    std::shared_ptr<SeededOrder> order;  // nullptr: the usual order
    Range workspace;                     // of a cooperative grid: the barrier of its blocks
};

// Runs clusters of one launch, one after another. Without clusters, each block is one. The blocks
// of a cluster share one thread, which may change between calls of advance(). Each worker has its
// own runner, which reuses registers, shared and local memory for the next cluster.
class ClusterRunner {
  public:
    static std::unique_ptr<ClusterRunner> make(const Launch& launch);
    virtual ~ClusterRunner() = default;

    // Runs the clusters from `first` that can be executed as a batch; returns their number.
    virtual std::uint64_t run_block_batch(std::uint64_t first, std::uint64_t end) = 0;
    // Starts the cluster with this number.
    virtual void begin(std::uint64_t cluster) = 0;
    enum class Progress { running, done, faulted };
    // Runs a time slice of each warp that is ready.
    virtual Progress advance() = 0;
    virtual Fault take_fault() = 0;
    // Makes the updates of global memory that machine code has deferred.
    virtual void make_deferred_updates() = 0;
    // Whether a new runner would have other machine code than this runner. The new runner may take
    // over between clusters.
    virtual bool is_outdated() const = 0;

    // Runs clusters one after another, each to its end or until `stop` is set.
    std::optional<Fault> run(std::uint64_t first, std::uint64_t end,
                             const std::atomic<bool>& stop) {
        std::optional<Fault> fault = run_each(first, end, stop);
        make_deferred_updates();
        return fault;
    }

  private:
    std::optional<Fault> run_each(std::uint64_t first, std::uint64_t end,
                                  const std::atomic<bool>& stop) {
        for (; first < end && !stop.load(std::memory_order_relaxed); ++first) {
            first += run_block_batch(first, end);
            if (first == end) break;
            begin(first);
            Progress progress;
            while ((progress = advance()) == Progress::running) {
            }
            if (progress == Progress::faulted) return take_fault();
        }
        return std::nullopt;
    }
};

}  // namespace cupola::cpu
