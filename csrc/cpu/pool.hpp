// csrc/cpu/pool.hpp - a memory pool: stream-ordered allocation.
//
// Memory that was freed on a stream is "pending" until the stream reaches the free, and meanwhile
// may be given only to later allocations on the same stream, whose order makes that safe. Then it
// is spare, for anybody, until a synchronisation finds more of it than the release threshold.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cpu/cuda.hpp"
#include "cpu/shared_file.hpp"

namespace cupola::cpu {

class Budget;
class Context;
class Device;
class Stream;

// What memory a pool gives: page-locked of a device or the host, or managed with a place that it
// prefers. Places that mean the same are equal.
struct PoolPlace {
    CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED;
    CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, 0};

    // INVALID_VALUE where there is no such place. The current NUMA node is for `fresh` pools alone.
    static PoolPlace of(CUmemAllocationType type, CUmemLocation location, bool fresh);
    bool on_device() const { return location.type == CU_MEM_LOCATION_TYPE_DEVICE; }
    bool managed() const { return type == CU_MEM_ALLOCATION_TYPE_MANAGED; }
    bool operator<(const PoolPlace& other) const;
    bool operator==(const PoolPlace& other) const { return !(*this < other) && !(other < *this); }
};

class Pool : public std::enable_shared_from_this<Pool> {
  public:
    // A pool that the driver's registry knows. `limit` of 0: as much as the device has.
    static std::shared_ptr<Pool> make(const PoolPlace& place, std::size_t limit, bool is_default);
    // The one that memory of a place comes from, if the program has set no other.
    static std::shared_ptr<Pool> default_of(const PoolPlace& place);
    static std::shared_ptr<Pool> current_of(const PoolPlace& place);
    static void set_current(std::shared_ptr<Pool> pool);  // of its own place
    // One whose memory other processes may be given; and such a one as another process has it,
    // which gives no memory of its own.
    static std::shared_ptr<Pool> make_shareable(Device& device, std::size_t limit);
    static std::shared_ptr<Pool> open(int descriptor);
    Pool(Device& device, const PoolPlace& place, std::size_t limit, bool is_default,
         std::unique_ptr<const SharedFile> file = nullptr, bool imported = false)
        : device_(device),
          place_(place),
          limit_(limit),
          default_(is_default),
          file_(std::move(file)),
          imported_(imported) {}
    ~Pool();

    CUmemoryPool handle() { return reinterpret_cast<CUmemoryPool>(this); }
    Device& device() const { return device_; }
    const PoolPlace& place() const { return place_; }
    // Whether devices have access to its memory: always, unless it is the host's.
    bool open() const { return open_; }
    void open(bool access);
    bool is_default() const { return default_; }
    bool imported() const { return imported_; }
    // Null where it is shared with nobody. Its number is that of the pool.
    const SharedFile* file() const { return file_.get(); }

    std::uintptr_t allocate(Stream& stream, std::size_t size);
    // `begin` is an allocation of this pool that the program has.
    void free_on(Stream& stream, std::uintptr_t begin);
    void free_now(std::uintptr_t begin);
    // The program has destroyed the pool; it stays until the last of its allocations is freed.
    void retire();
    void trim(std::size_t keep);
    // What a synchronisation does: give back what the threshold does not keep.
    void settle();

    void get(CUmemPool_attribute attribute, void* value);
    void set(CUmemPool_attribute attribute, const void* value);

  private:
    struct Block {
        std::size_t capacity = 0;
        bool used = false;
        const Stream* pending = nullptr;
        std::uint64_t turn = 0;  // of its frees: tells a pending free from one that was overtaken
    };
    std::uintptr_t reuse(Stream& stream, std::size_t size);
    void reached(std::uintptr_t begin, std::uint64_t turn);
    void drop_spare(std::size_t keep);
    Budget& budget() const;
    std::shared_ptr<Pool> last_reference();

    Device& device_;
    const PoolPlace place_;
    std::atomic<bool> open_{place_.managed() || place_.on_device()};
    const std::size_t limit_;
    const bool default_;
    const std::unique_ptr<const SharedFile> file_;
    const bool imported_;

    std::mutex mutex_;
    std::shared_ptr<Pool> self_;  // once retired, while allocations are left
    std::unordered_map<std::uintptr_t, Block> blocks_;
    std::multimap<std::size_t, std::uintptr_t> spare_;
    std::unordered_map<const Stream*, std::multimap<std::size_t, std::uintptr_t>> pending_;
    std::uint64_t reserved_ = 0, reserved_high_ = 0, used_ = 0, used_high_ = 0;
    std::uint64_t threshold_ = 0;
    int follow_events_ = 1, opportunistic_ = 1, internal_dependencies_ = 1;
};

}  // namespace cupola::cpu
