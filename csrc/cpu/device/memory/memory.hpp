// csrc/cpu/device/memory/memory.hpp - the memory map: every allocation and registered host range of
// the process, its owner, and the ranges that device code may access.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <vector>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/memory/range_table.hpp"
#include "cpu/device/memory/shared_file.hpp"
#include "cpu/interpreter/execute.hpp"
#include "cpu/sanitizer/init_shadow.hpp"

namespace cupola::cpu {

class Context;
class Pool;
class QuiesceGate;

struct Allocation {
    enum class Kind { device, managed, pool, host, registered, imported, mapped, graph };

    std::uintptr_t begin = 0;
    std::size_t size = 0;      // as requested; accesses are checked against this size
    std::size_t capacity = 0;  // as counted in the device's budget
    Kind kind = Kind::device;
    unsigned flags = 0;
    int device = 0;
    // Its destruction frees the memory. Null for memory of a pool.
    const Context* context = nullptr;
    const Pool* pool = nullptr;
    std::uint64_t id = 0;  // never reused
    bool sync_memops = false;
    bool module = false;     // a module's variables, which the program cannot free
    bool shareable = false;  // memory of a pool that can be shared with other processes
    bool reachable = true;   // device code may access it now
    // For memory of a pool: its location, and whether devices can access the pool.
    enum class Place { device, host, managed } place = Place::device;
    bool open = true;
    std::size_t mapped = 0;  // bytes of separate pages; 0 if it is in the host's heap
    std::shared_ptr<const SharedFile> file;  // the file behind pages that processes share
    // For memory of another process: the program's open references, and the references that queued
    // work may still use.
    unsigned opened = 0, held = 0;
    std::shared_ptr<const Pool> importer;  // the pool that imported the memory

    std::uintptr_t end() const { return begin + size; }
    bool on_host() const { return kind == Kind::host || kind == Kind::registered; }
    bool is_managed() const { return kind == Kind::managed || place == Place::managed; }
};

// The used and the total bytes of a device.
class Budget {
  public:
    explicit Budget(std::size_t total = 0) : total_(total) {}
    bool take(std::size_t bytes);
    void give(std::size_t bytes) { used_.fetch_sub(bytes); }
    std::size_t total() const { return total_; }
    std::size_t free() const {
        const std::size_t used = used_.load();
        return used < total_ ? total_ - used : 0;
    }

  private:
    const std::size_t total_;
    std::atomic<std::size_t> used_{0};
};

class MemoryMap final : public AddressSpace {
  public:
    static constexpr std::size_t alignment = 512;  // as in NVIDIA's driver

    explicit MemoryMap(const Checks& checks);

    // Allocates from `budget` and from the host; throws OUT_OF_MEMORY if either is exhausted.
    // `like` has all properties except address and size.
    std::uintptr_t allocate(Allocation like, std::size_t size, std::size_t align, Budget& budget);
    void release(std::uintptr_t begin, Budget& budget);
    void add_registered(Allocation range);
    void remove_registered(std::uintptr_t begin);

    // A copy of the allocation that contains an address, or nothing. A copy, because another thread
    // may free the allocation at any time.
    std::optional<Allocation> at(std::uintptr_t address) const;
    bool overlaps(std::uintptr_t begin, std::uintptr_t end) const;
    void change(std::uintptr_t begin, const std::function<void(Allocation&)>& change);
    std::vector<Allocation> owned_by(const Context* context) const;

    // Makes the allocation that contains an address shareable, and returns its file.
    std::shared_ptr<const SharedFile> share(std::uintptr_t address, QuiesceGate& gate,
                                            const SharedFile::Number& owner = {});
    // Maps memory that another process shares; a second call returns the same address. `like` gives
    // the properties of the mapping. Throws INVALID_VALUE if the memory's owner is not `owner`.
    std::uintptr_t open(Allocation like, const void* name, const SharedFile::Number& owner = {});
    // `close` ends one reference of the program and returns the allocation's id; it throws
    // INVALID_VALUE if the program has none. Call `drop_closed` once for each `close`, when earlier
    // work is done; the call for the last reference unmaps the memory.
    std::uint64_t close(std::uintptr_t begin);
    void drop_closed(std::uintptr_t begin, std::uint64_t id, Budget& budget);

    // A piece that the program mapped (virtual_memory.hpp). The piece's access is in
    // Allocation::flags; at first there is none, and `open_mapped` sets it.
    void add_mapped(Allocation range);
    void remove_mapped(std::uintptr_t begin);
    void open_mapped(std::uintptr_t begin, CUmemAccess_flags access);

    // Whether a copy may read (or `write`) the bytes: they must be in one allocation, or in
    // adjacent mapped pieces.
    bool reaches(std::uintptr_t address, std::size_t bytes, bool write) const;
    // Whether running work may access the bytes; the caller holds a pin. Unlike `reaches`, it
    // accepts memory of a pool that was freed after the work, or that the pool still caches.
    bool accessible(std::uintptr_t address, std::size_t bytes, bool write) const;
    // Whether the host may read the address directly: page-locked or managed memory.
    bool host_reads(std::uintptr_t address) const;

    // Marks a range of a pool as allocated with the requested size, or as free.
    void hand_out(std::uintptr_t begin, std::size_t size, const Context* context);
    void take_back(std::uintptr_t begin);

    // Enables or disables device access to a range of a pool.
    void open_pooled(std::uintptr_t begin, bool open);
    // Called when a stream has reached the free of a range of a pool.
    void withdraw(std::uintptr_t begin);
    // Whether device code may access only the allocated parts of a pool, for checks of accesses.
    bool exact() const { return checks_.memory || checks_.init; }
    // Called after a copy or a fill has written the range.
    void wrote(std::uintptr_t address, std::size_t bytes) {
        if (checks_.init) unwritten.wrote(address, bytes);
    }
    // Called by malloc and free of device code; a new piece counts as uninitialized.
    void allocated_piece(std::uintptr_t begin, std::size_t bytes) {
        if (checks_.init) unwritten.add(begin, bytes);
    }
    void freed_piece(std::uintptr_t begin) {
        if (checks_.init) unwritten.remove(begin);
    }
    sanitizer::Unwritten unwritten;  // used by the `init` check

    Range find(std::uintptr_t address) const override { return ranges_.find(address); }
    std::string fault_location(std::uintptr_t address) const override;

    // Calls `step` when no grid may use earlier results of `find` any more.
    void when_unused(std::function<void()> step) { retire(std::move(step)); }

    // While a pin is held, no range is unmapped and no memory is freed. A running grid holds one.
    class Pin {
      public:
        explicit Pin(MemoryMap& map);
        ~Pin();
        Pin(const Pin&) = delete;
        Pin& operator=(const Pin&) = delete;

      private:
        MemoryMap& map_;
        std::multiset<std::uint64_t>::iterator at_;
    };

  private:
    bool kept_on_host(std::uintptr_t address, std::size_t bytes) const;
    void retire(std::function<void()> free);
    void reach(Allocation& allocation, std::size_t size);
    void unreach(Allocation& allocation);
    Allocation take_out(std::map<std::uintptr_t, Allocation>::iterator at);  // needs the lock
    void discard(Allocation gone, Budget& budget);                           // without the lock
    void give_back_pages(void* memory, std::size_t length);

    const Checks checks_;

    mutable std::shared_mutex mutex_;
    std::map<std::uintptr_t, Allocation> table_;
    std::uint64_t last_id_ = 0;
    RangeTable ranges_;
    std::deque<Range> freed_;  // latest last; used by the `memory` check
    std::mutex sharing_;       // for share and open; locked before mutex_

    std::mutex still_mapped_mutex_;
    // Address ranges whose unmapping has failed: the beginning and the number of bytes.
    std::vector<std::pair<void*, std::size_t>> still_mapped_;

    std::mutex pins_mutex_;
    std::multiset<std::uint64_t> pins_;
    std::uint64_t now_ = 0;
    std::deque<std::pair<std::uint64_t, std::function<void()>>> retired_;
};

}  // namespace cupola::cpu
