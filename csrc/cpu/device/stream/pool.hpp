// csrc/cpu/device/stream/pool.hpp - a memory pool: stream-ordered allocation.
//
// Memory freed in a stream is "pending" until the stream reaches the free. Meanwhile only later
// allocations in the same stream may reuse it, which its order makes safe. Then it is "spare" for
// all streams, until a synchronisation releases the part above the release threshold.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/driver/pool_place.hpp"
#include "cpu/device/memory/shared_file.hpp"

namespace cupola::cpu {

class Budget;
class Context;
class Device;
class Stream;

class Pool : public std::enable_shared_from_this<Pool> {
  public:
    // Creates a registered pool. A `limit` of 0 is the memory of the device.
    static std::shared_ptr<Pool> make(Driver& driver, const PoolPlace& place, std::size_t limit,
                                      bool is_default);
    // `current_of` is the default pool of a place unless the program has set another.
    static std::shared_ptr<Pool> default_of(Driver& driver, const PoolPlace& place);
    static std::shared_ptr<Pool> current_of(Driver& driver, const PoolPlace& place);
    static void set_current(std::shared_ptr<Pool> pool);  // for the pool's place
    // A pool whose memory can be shared, and such a pool of another process, which cannot allocate.
    static std::shared_ptr<Pool> make_shareable(Driver& driver, const PoolPlace& place,
                                                std::size_t limit);
    static std::shared_ptr<Pool> open(Driver& driver, int descriptor);
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
    // Whether devices can access the pool's memory; always true unless the pool is on the host.
    bool open() const { return open_; }
    void open(bool access);
    bool is_default() const { return default_; }
    bool imported() const { return imported_; }
    // Null if the pool is not shareable. The number of the file identifies the pool.
    const SharedFile* file() const { return file_.get(); }

    std::uintptr_t allocate(Stream& stream, std::size_t size);
    // `begin` is an allocation of this pool that the program owns.
    void free_on(Stream& stream, std::uintptr_t begin);
    void free_now(std::uintptr_t begin);
    // Called when the program destroys the pool. The pool stays until its last allocation is freed.
    void retire();
    void trim(std::size_t keep);
    // Called by a synchronisation: releases spare memory above the threshold.
    void settle();

    void get(CUmemPool_attribute attribute, void* value);
    void set(CUmemPool_attribute attribute, const void* value);

  private:
    struct Block {
        std::size_t capacity = 0;
        bool used = false;
        const Stream* pending = nullptr;
        std::uint64_t turn = 0;  // number of the free: a stale pending free has an older one
    };
    std::uintptr_t reuse(Stream& stream, std::size_t size);
    void reached(std::uintptr_t begin, std::uint64_t turn);
    void drop_spare(std::size_t keep);
    Budget& budget() const;
    std::shared_ptr<Pool> release_self_if_unused();

    Device& device_;
    const PoolPlace place_;
    std::atomic<bool> open_{place_.managed() || place_.on_device()};
    const std::size_t limit_;
    const bool default_;
    const std::unique_ptr<const SharedFile> file_;
    const bool imported_;

    std::mutex mutex_;
    std::shared_ptr<Pool> self_;  // set after retire() while allocations exist
    std::unordered_map<std::uintptr_t, Block> blocks_;
    std::multimap<std::size_t, std::uintptr_t> spare_;
    std::unordered_map<const Stream*, std::multimap<std::size_t, std::uintptr_t>> pending_;
    std::uint64_t reserved_ = 0, reserved_high_ = 0, used_ = 0, used_high_ = 0;
    std::uint64_t threshold_ = 0;
    int follow_events_ = 1, opportunistic_ = 1, internal_dependencies_ = 1;
};

}  // namespace cupola::cpu
