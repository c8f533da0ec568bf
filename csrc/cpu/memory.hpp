// csrc/cpu/memory.hpp - the memory map: every allocation and registered host range of the process,
// with its owner, and what of it device code may reach.
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

#include "cpu/cuda.hpp"
#include "cpu/execute.hpp"
#include "cpu/range_table.hpp"
#include "cpu/shared_file.hpp"
#include "cpu/watch/unwritten.hpp"

namespace cupola::cpu {

class Context;
class Pool;
class QuiesceGate;

struct Allocation {
    enum class Kind { device, managed, pool, host, registered, imported, mapped, graph };

    std::uintptr_t begin = 0;
    std::size_t size = 0;      // as asked for: what is checked
    std::size_t capacity = 0;  // as counted against the device's memory
    Kind kind = Kind::device;
    unsigned flags = 0;
    int device = 0;
    const Context* context = nullptr;  // whose end frees it; of a pool's memory, nobody's
    const Pool* pool = nullptr;
    std::uint64_t id = 0;  // never used twice
    bool sync_memops = false;
    bool module = false;     // a module's variables: not the program's to free
    bool shareable = false;  // of a pool's memory: other processes may be given it
    bool reachable = true;   // device code may reach it now
    // Of a pool's memory: whose it is, and whether devices have access to the pool.
    enum class Place { device, host, managed } place = Place::device;
    bool open = true;
    std::size_t mapped = 0;                  // bytes of pages of its own; 0: of the host's heap
    std::shared_ptr<const SharedFile> file;  // what the pages are, where processes share them
    // Of what another process gave: how often the program has opened it, and how many of these
    // openings work may still use.
    unsigned opened = 0, held = 0;
    std::shared_ptr<const Pool> importer;  // which it came by

    std::uintptr_t end() const { return begin + size; }
    bool on_host() const { return kind == Kind::host || kind == Kind::registered; }
    bool is_managed() const { return kind == Kind::managed || place == Place::managed; }
};

// How many bytes of a device are handed out, and how many there are.
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
    static constexpr std::size_t alignment = 512;  // as NVIDIA's driver aligns

    explicit MemoryMap(const watch::Checks& checks);

    // Takes memory from `budget` and from the host; OUT_OF_MEMORY where either has none. `like`
    // says everything but where and how much.
    std::uintptr_t allocate(Allocation like, std::size_t size, std::size_t align, Budget& budget);
    void release(std::uintptr_t begin, Budget& budget);
    void add_registered(Allocation range);
    void remove_registered(std::uintptr_t begin);

    // The allocation that holds an address, nothing where none does. By value: it may go any time.
    std::optional<Allocation> at(std::uintptr_t address) const;
    bool overlaps(std::uintptr_t begin, std::uintptr_t end) const;
    void change(std::uintptr_t begin, const std::function<void(Allocation&)>& change);
    std::vector<Allocation> owned_by(const Context* context) const;

    // Makes the allocation that holds an address one which other processes may open; what by.
    std::shared_ptr<const SharedFile> share(std::uintptr_t address, QuiesceGate& gate,
                                            const SharedFile::Number& owner = {});
    // Memory of another process. `like` says whose it is here; opened again, it is what it was.
    // INVALID_VALUE where it has another owner.
    std::uintptr_t open(Allocation like, const void* name, const SharedFile::Number& owner = {});
    // Takes back one opening from the program, INVALID_VALUE where it has none: what allocation
    // that is. Then, when no work uses it by that opening any more, the memory goes with the last.
    std::uint64_t close(std::uintptr_t begin);
    void drop_closed(std::uintptr_t begin, std::uint64_t id, Budget& budget);

    // A piece that the program mapped (virtual_memory.hpp). `flags` of such a range is the access
    // that it is open to; none at first.
    void add_mapped(Allocation range);
    void remove_mapped(std::uintptr_t begin);
    void open_mapped(std::uintptr_t begin, CUmemAccess_flags access);

    // Whether a copy may read, or `write`, so many bytes from there: within one allocation, or over
    // mapped pieces that are neighbours.
    bool reaches(std::uintptr_t address, std::size_t bytes, bool write) const;
    // Whether work that runs now may access the bytes; the caller holds a pin. Unlike `reaches` it
    // counts a pool's memory that was freed behind the work, or that the pool still keeps.
    bool accessible(std::uintptr_t address, std::size_t bytes, bool write) const;
    // Whether the program may read there without a call: page-locked or managed memory.
    bool host_reads(std::uintptr_t address) const;

    // For a range which a pool keeps: whether the program has it, and how large it asked.
    void hand_out(std::uintptr_t begin, std::size_t size, const Context* context);
    void take_back(std::uintptr_t begin);

    // Gives devices access to a range that a pool keeps, or takes it away.
    void open_pooled(std::uintptr_t begin, bool open);
    // A stream has come to the free of what a pool keeps.
    void withdraw(std::uintptr_t begin);
    // Device code reaches of a pool's ranges just what the program has, and only as long.
    bool exact() const { return checks_.memory || checks_.init; }
    // A copy or a fill has written there.
    void wrote(std::uintptr_t address, std::size_t bytes) {
        if (checks_.init) unwritten.wrote(address, bytes);
    }
    // Device code's malloc has given a piece of the heap, which nobody has written since, or its
    // free has taken one back.
    void allocated_piece(std::uintptr_t begin, std::size_t bytes) {
        if (checks_.init) unwritten.add(begin, bytes);
    }
    void freed_piece(std::uintptr_t begin) {
        if (checks_.init) unwritten.remove(begin);
    }
    watch::Unwritten unwritten;  // where `init` is checked

    Range find(std::uintptr_t address) const override { return ranges_.find(address); }
    std::string fault_location(std::uintptr_t address) const override;

    // Calls `step` when no grid is left that may use what was found in the map till now.
    void when_unused(std::function<void()> step) { retire(std::move(step)); }

    // While a pin is held nothing that was found in the map is unmapped, and no memory is freed.
    // A grid holds one for as long as it runs.
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
    Allocation take_out(std::map<std::uintptr_t, Allocation>::iterator at);  // with the lock
    void discard(Allocation gone, Budget& budget);                           // without it

    const watch::Checks checks_;

    mutable std::shared_mutex mutex_;
    std::map<std::uintptr_t, Allocation> table_;
    std::uint64_t last_id_ = 0;
    RangeTable ranges_;
    std::deque<Range> freed_;  // the latest last, where memory is checked
    std::mutex sharing_;       // of share and open, taken first

    std::mutex pins_mutex_;
    std::multiset<std::uint64_t> pins_;
    std::uint64_t now_ = 0;
    std::deque<std::pair<std::uint64_t, std::function<void()>>> retired_;
};

}  // namespace cupola::cpu
