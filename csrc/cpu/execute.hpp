// csrc/cpu/execute.hpp - the seam inside the CPU device: what the driver's entry points (device,
// streams, memory, scheduler) ask of the part that turns PTX into running warps.
//
// Every pointer that device code sees is a host address: global memory is host memory, a block's
// shared memory and a thread's local memory lie at host addresses of their own, so that a generic
// pointer needs no tag. Before it is followed, an address is looked up: in the shared memory of the
// block and its cluster, in the thread's own local memory, else in AddressSpace.
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

#include "cpu/fault.hpp"
#include "cpu/range.hpp"
#include "cpu/texture.hpp"
#include "cpu/watch/checks.hpp"

namespace cupola::cpu {

namespace watch {
class GridWatch;
class Unwritten;
}  // namespace watch

struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
};

// What global memory is at this moment. Implemented by the driver's memory map. A range that was
// found stays mapped until the grid that asked has ended, so a caller may keep it that long.
class AddressSpace {
  public:
    virtual ~AddressSpace() = default;
    virtual Range find(std::uintptr_t address) const = 0;  // empty where nothing is mapped
    // Where an address lies beside the nearest allocation, in words.
    virtual std::string fault_location(std::uintptr_t address) const = 0;
};

// What malloc and free of device code work on. Called from many threads at once.
class DeviceHeap {
  public:
    virtual ~DeviceHeap() = default;
    virtual std::uintptr_t allocate(std::uint64_t bytes) = 0;  // 0: there is no room
    virtual bool release(std::uintptr_t address) = 0;          // false: nothing begins there
};

struct Fault {
    using Kind = FaultKind;
    Kind kind;
    std::string text;  // one line: kernel, block, thread, PTX line, address
};

struct Parameter {
    std::uint32_t offset = 0, size = 0, align = 1;
};

struct Variable {
    std::string name;
    std::uintptr_t address = 0;
    std::size_t size = 0;
    bool constant = false, managed = false;
    // Of a texture, sampler or surface the address is a number that device code knows it by.
    enum class Role : std::uint8_t { data, texture, sampler, surface } role = Role::data;
};

// A decoded kernel, ready to run. Owned by its Image, immutable, used from many threads at once.
class Kernel {
  public:
    virtual ~Kernel() = default;
    virtual const std::string& name() const = 0;
    virtual const std::vector<Parameter>& parameters() const = 0;
    virtual std::uint32_t static_shared_bytes() const = 0;
    virtual std::uint32_t local_bytes() const = 0;     // a thread
    virtual std::uint32_t constant_bytes() const = 0;  // a module
    virtual std::uint32_t registers() const = 0;       // 32-bit units a thread, at most 255
    virtual std::uint32_t max_threads() const = 0;     // .maxntid/.reqntid product, else 1024
    virtual Dim3 required_block() const = 0;           // .reqntid, zeros where there is none
    virtual Dim3 required_cluster() const = 0;         // .reqnctapercluster, zeros likewise
    virtual std::uint32_t max_cluster() const = 0;     // .maxclusterrank in blocks, 0 likewise
    virtual bool explicit_cluster() const = 0;         // .explicitcluster
    virtual int ptx_version() const = 0;               // major * 10 + minor
    virtual int target() const = 0;                    // 75 for sm_75

    // Seconds that a cluster took when last one was measured, for whoever hands them out.
    mutable std::atomic<float> seconds_per_cluster{0};
};

// A PTX module bound to memory: variables placed and initialised, kernels decoded.
class Image {
  public:
    // Memory for module variables: zeroed, reachable by device code, given back by `release`.
    struct Memory {
        std::function<void*(std::size_t size, std::size_t align)> allocate;
        std::function<void(void*)> release;
    };
    // Throws cupola::ptx::Error (csrc/ptx/error.hpp), which has a kind, a line and a text.
    static std::unique_ptr<Image> build(std::string_view ptx, Memory memory);

    virtual ~Image() = default;
    virtual const std::vector<const Kernel*>& kernels() const = 0;
    virtual const Kernel* kernel(std::string_view name) const = 0;  // nullptr: no such kernel
    virtual const std::vector<Variable>& variables() const = 0;
    virtual const Variable* variable(std::string_view name) const = 0;  // nullptr: no such variable
};

// One launch, shared by all workers that run its blocks. The scheduler keeps it alive until the
// last block has ended.
struct Launch {
    const Kernel* kernel = nullptr;
    Dim3 grid, block, cluster;
    bool explicit_cluster = false;  // somebody asked for the cluster's shape
    // All blocks are at work at once and may wait for each other: each gives way to the others.
    bool cooperative = false;
    std::uint32_t dynamic_shared = 0;
    std::vector<std::byte> parameters;  // laid out by the kernel's Parameter offsets
    const AddressSpace* memory = nullptr;
    DeviceHeap* heap = nullptr;
    const std::atomic<bool>* stop = nullptr;      // looked at on backward branches and barriers
    std::function<void(std::string_view)> print;  // device printf, one call a formatted string
    std::uint64_t grid_id = 0;
    const TextureSpace* textures = nullptr;
    watch::Checks checks;
    std::shared_ptr<watch::GridWatch> watch;  // where its accesses are looked at
    watch::Unwritten* unwritten = nullptr;    // of global memory
    // What the module's texture and surface variables were bound to when the grid was launched.
    std::vector<std::pair<std::uint64_t, std::shared_ptr<const Texture>>> references;
    Range workspace;  // of a cooperative grid: what its blocks count each other in
};

namespace watch {
std::shared_ptr<GridWatch> watch_grid(const Launch& launch);
}  // namespace watch

// Runs clusters of one launch, one after another; where the launch has none, each block is one.
// The blocks of a cluster take turns on one thread at a time, which may change between turns. Each
// worker has its own, which keeps registers, shared and local memory between clusters.
class ClusterRunner {
  public:
    static std::unique_ptr<ClusterRunner> make(const Launch& launch);
    virtual ~ClusterRunner() = default;

    // Does as many clusters from `first` on as can be done all at once; how many that were.
    virtual std::uint64_t sweep(std::uint64_t first, std::uint64_t end) = 0;
    // Stands at the beginning of the cluster of this number.
    virtual void begin(std::uint64_t cluster) = 0;
    enum class Progress { running, done, faulted };
    // Gives each warp that can go on a turn.
    virtual Progress advance() = 0;
    virtual Fault take_fault() = 0;

    // Clusters one after another, each from its beginning to its end, or until `stop` is set.
    std::optional<Fault> run(std::uint64_t first, std::uint64_t end,
                             const std::atomic<bool>& stop) {
        for (; first < end && !stop.load(std::memory_order_relaxed); ++first) {
            first += sweep(first, end);
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
