// csrc/cpu/device/memory/memory.cpp - allocates, frees and looks up memory.
#include "cpu/device/memory/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

#include "cpu/device/base/failure.hpp"
#include "cpu/device/memory/shared_file.hpp"

namespace cupola::cpu {
namespace {

constexpr std::size_t huge = std::size_t{2} << 20;
constexpr std::size_t max_freed = 1024;  // freed ranges that are remembered

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

void* host_memory(std::size_t capacity, std::size_t align) {
    if (capacity < 2 * huge) return std::aligned_alloc(align, capacity);
    void* memory = std::aligned_alloc(std::max(align, huge), round_up(capacity, huge));
    // Huge pages reduce page faults and table walks for large arrays.
    if (memory) madvise(memory, round_up(capacity, huge), MADV_HUGEPAGE);
    return memory;
}

// Memory of separate pages, which can be shared with other processes.
void* own_pages(std::size_t length) {
    const std::size_t spare = length < 2 * huge ? 0 : huge;
    void* const found =
        mmap(nullptr, length + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return nullptr;
    if (spare == 0) return found;
    auto* const first = static_cast<std::byte*>(found);
    const std::size_t before = round_up(reinterpret_cast<std::uintptr_t>(first), huge) -
                               reinterpret_cast<std::uintptr_t>(first);
    if (before) munmap(first, before);
    if (before < spare) munmap(first + before + length, spare - before);
    madvise(first + before, length, MADV_HUGEPAGE);
    return first + before;
}

bool writable(const Allocation& range) {
    if (range.kind == Allocation::Kind::mapped)
        return range.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return range.kind != Allocation::Kind::registered ||
           !(range.flags & CU_MEMHOSTREGISTER_READ_ONLY);
}

}  // namespace

bool Budget::take(std::size_t bytes) {
    std::size_t used = used_.load();
    do {
        if (bytes > total_ || used > total_ - bytes) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    return true;
}

MemoryMap::MemoryMap(const Checks& checks)
    : checks_(checks), ranges_([this](std::function<void()> free) { retire(std::move(free)); }) {}

std::uintptr_t MemoryMap::allocate(Allocation like, std::size_t size, std::size_t align,
                                   Budget& budget) {
    require(size <= budget.total(), CUDA_ERROR_OUT_OF_MEMORY);
    align = std::max(align, alignment);
    like.size = size;
    like.capacity = round_up(std::max<std::size_t>(size, 1), align);
    require(budget.take(like.capacity), CUDA_ERROR_OUT_OF_MEMORY);
    void* memory = nullptr;
    if ((like.kind == Allocation::Kind::device && !like.module) || like.shareable) {
        // Under the checks, allocations are not adjacent: an overrun must not hit another one.
        like.mapped = in_pages(like.capacity + (checks_.memory ? MemoryMap::alignment : 0));
        memory = own_pages(like.mapped);
    }
    if (!memory) {  // the memory is in the host's heap, which cannot be shared
        like.mapped = 0;
        memory = host_memory(like.capacity, align);
    }
    if (!memory) {
        budget.give(like.capacity);
        fail(CUDA_ERROR_OUT_OF_MEMORY);
    }
    like.begin = reinterpret_cast<std::uintptr_t>(memory);
    std::unique_lock lock(mutex_);
    like.id = ++last_id_;
    like.reachable = false;
    // The program owns parts of a pool's range, but device code may access the whole range.
    if (like.kind != Allocation::Kind::pool)
        reach(like, size);
    else if (!exact() && like.open)
        reach(like, like.capacity);
    table_.emplace(like.begin, like);
    return like.begin;
}

void MemoryMap::reach(Allocation& allocation, std::size_t size) {
    allocation.reachable = true;
    ranges_.insert({allocation.begin, allocation.begin + size, true});
    const bool fresh = allocation.kind == Allocation::Kind::device ||
                       allocation.kind == Allocation::Kind::pool ||
                       allocation.kind == Allocation::Kind::graph;
    // Another process may have written shared memory.
    if (checks_.init && fresh && !allocation.module && !allocation.file)
        unwritten.add(allocation.begin, size);
}

void MemoryMap::unreach(Allocation& allocation) {
    if (!std::exchange(allocation.reachable, false)) return;
    if (checks_.init) unwritten.remove(allocation.begin);
    if (checks_.memory) {
        freed_.push_back(ranges_.find(allocation.begin));
        if (freed_.size() > max_freed) freed_.pop_front();
    }
    ranges_.erase(allocation.begin);
}

void MemoryMap::release(std::uintptr_t begin, Budget& budget) {
    Allocation gone;
    {
        std::unique_lock lock(mutex_);
        gone = take_out(table_.find(begin));
    }
    discard(std::move(gone), budget);
}

Allocation MemoryMap::take_out(std::map<std::uintptr_t, Allocation>::iterator at) {
    Allocation gone = std::move(at->second);
    table_.erase(at);
    unreach(gone);
    return gone;
}

// The system limits the number of mappings, so unmapping the middle of one can fail. Then only the
// memory is released; the addresses are released later.
void MemoryMap::give_back_pages(void* memory, std::size_t length) {
    if (munmap(memory, length) == 0) {
        std::lock_guard lock(still_mapped_mutex_);
        while (!still_mapped_.empty() &&
               munmap(still_mapped_.back().first, still_mapped_.back().second) == 0)
            still_mapped_.pop_back();
        return;
    }
    madvise(memory, length, MADV_DONTNEED);
    std::lock_guard lock(still_mapped_mutex_);
    still_mapped_.emplace_back(memory, length);
}

void MemoryMap::discard(Allocation gone, Budget& budget) {
    retire([this, gone = std::move(gone), &budget] {
        auto* const memory = reinterpret_cast<void*>(gone.begin);
        if (gone.mapped)
            give_back_pages(memory, gone.mapped);
        else
            std::free(memory);
        budget.give(gone.capacity);
    });
}

void MemoryMap::add_registered(Allocation range) {
    std::unique_lock lock(mutex_);
    range.id = ++last_id_;
    table_.emplace(range.begin, range);
    ranges_.insert({range.begin, range.end(), writable(range)});
}

void MemoryMap::remove_registered(std::uintptr_t begin) {
    std::unique_lock lock(mutex_);
    table_.erase(begin);
    ranges_.erase(begin);
}

void MemoryMap::add_mapped(Allocation range) {
    std::unique_lock lock(mutex_);
    range.id = ++last_id_;
    table_.emplace(range.begin, std::move(range));
}

void MemoryMap::remove_mapped(std::uintptr_t begin) {
    std::unique_lock lock(mutex_);
    const auto it = table_.find(begin);
    if (it->second.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) ranges_.erase(begin);
    table_.erase(it);
}

void MemoryMap::open_mapped(std::uintptr_t begin, CUmemAccess_flags access) {
    std::unique_lock lock(mutex_);
    Allocation& range = table_.at(begin);
    const auto before = std::exchange(range.flags, access);
    if (before == range.flags) return;
    if (before != CU_MEM_ACCESS_FLAGS_PROT_NONE) ranges_.erase(begin);
    if (access != CU_MEM_ACCESS_FLAGS_PROT_NONE)
        ranges_.insert({begin, range.end(), writable(range)});
}

bool MemoryMap::reaches(std::uintptr_t address, std::size_t bytes, bool write) const {
    std::shared_lock lock(mutex_);
    auto it = table_.upper_bound(address);
    if (it == table_.begin()) return false;
    --it;
    if (it->second.kind != Allocation::Kind::mapped)
        return address < it->second.end() && bytes <= it->second.end() - address &&
               !(write && !writable(it->second));
    std::uintptr_t end = it->second.end();
    for (;; ++it) {
        if (it->second.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) return false;
        if (write && !writable(it->second)) return false;
        end = it->second.end();
        if (end > address && bytes <= end - address) return true;
        const auto next = std::next(it);
        if (next == table_.end() || next->first != end ||
            next->second.kind != Allocation::Kind::mapped)
            return false;
    }
}

bool MemoryMap::accessible(std::uintptr_t address, std::size_t bytes, bool write) const {
    for (;;) {
        const Range range = ranges_.find(address);
        if (range.end == 0) return kept_on_host(address, bytes);
        if (write && !range.writable) return false;
        if (bytes <= range.end - address) return true;
        bytes -= range.end - address;
        address = range.end;
    }
}

// Copies may use memory of a host pool even if devices cannot access the pool.
bool MemoryMap::kept_on_host(std::uintptr_t address, std::size_t bytes) const {
    std::shared_lock lock(mutex_);
    auto it = table_.upper_bound(address);
    if (it == table_.begin()) return false;
    const Allocation& found = (--it)->second;
    return found.place == Allocation::Place::host && !found.open &&
           address - found.begin < found.capacity &&
           bytes <= found.capacity - (address - found.begin);
}

bool MemoryMap::host_reads(std::uintptr_t address) const {
    const auto found = at(address);
    return found &&
           (found->on_host() || found->is_managed() || found->place == Allocation::Place::host);
}

std::optional<Allocation> MemoryMap::at(std::uintptr_t address) const {
    std::shared_lock lock(mutex_);
    auto it = table_.upper_bound(address);
    if (it == table_.begin()) return std::nullopt;
    --it;
    if (address >= it->second.end()) return std::nullopt;
    return it->second;
}

bool MemoryMap::overlaps(std::uintptr_t begin, std::uintptr_t end) const {
    std::shared_lock lock(mutex_);
    const auto it = table_.lower_bound(end);
    return it != table_.begin() && std::prev(it)->second.end() > begin;
}

void MemoryMap::change(std::uintptr_t begin, const std::function<void(Allocation&)>& change) {
    std::unique_lock lock(mutex_);
    const auto it = table_.find(begin);
    if (it != table_.end()) change(it->second);
}

std::vector<Allocation> MemoryMap::owned_by(const Context* context) const {
    std::vector<Allocation> owned;
    std::shared_lock lock(mutex_);
    for (const auto& [begin, allocation] : table_)
        if (allocation.context == context && allocation.kind != Allocation::Kind::pool)
            owned.push_back(allocation);
    return owned;
}

void MemoryMap::hand_out(std::uintptr_t begin, std::size_t size, const Context* context) {
    std::unique_lock lock(mutex_);
    Allocation& allocation = table_.at(begin);
    allocation.size = size;
    allocation.context = context;
    allocation.id = ++last_id_;
    if (exact() && allocation.open) reach(allocation, size);
}

void MemoryMap::open_pooled(std::uintptr_t begin, bool open) {
    std::unique_lock lock(mutex_);
    Allocation& allocation = table_.at(begin);
    if (std::exchange(allocation.open, open) == open) return;
    const std::size_t size = exact() ? allocation.size : allocation.capacity;
    if (!open)
        unreach(allocation);
    else if (size != 0)
        reach(allocation, size);
}

void MemoryMap::take_back(std::uintptr_t begin) {
    std::unique_lock lock(mutex_);
    table_.at(begin).size = 0;
}

void MemoryMap::withdraw(std::uintptr_t begin) {
    if (!exact()) return;
    std::unique_lock lock(mutex_);
    const auto it = table_.find(begin);
    if (it == table_.end() || !it->second.reachable) return;
    unreach(it->second);
}

void MemoryMap::retire(std::function<void()> free) {
    {
        std::lock_guard lock(pins_mutex_);
        if (!pins_.empty()) {
            retired_.emplace_back(now_++, std::move(free));
            return;
        }
    }
    free();
}

MemoryMap::Pin::Pin(MemoryMap& map) : map_(map) {
    std::lock_guard lock(map.pins_mutex_);
    at_ = map.pins_.insert(map.now_);
}

MemoryMap::Pin::~Pin() {
    std::vector<std::function<void()>> due;
    {
        std::lock_guard lock(map_.pins_mutex_);
        map_.pins_.erase(at_);
        // A pin taken at `p` may have looked up ranges that were retired at `p` or later.
        const std::uint64_t oldest = map_.pins_.empty() ? ~std::uint64_t{0} : *map_.pins_.begin();
        while (!map_.retired_.empty() && map_.retired_.front().first < oldest) {
            due.push_back(std::move(map_.retired_.front().second));
            map_.retired_.pop_front();
        }
    }
    for (auto& free : due) free();
}

}  // namespace cupola::cpu
