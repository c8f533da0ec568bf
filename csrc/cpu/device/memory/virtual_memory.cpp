// csrc/cpu/device/memory/virtual_memory.cpp - reserves and maps addresses, and sets access.
#include "cpu/device/memory/virtual_memory.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "cpu/device/base/failure.hpp"
#include "cpu/device/memory/shared_file.hpp"

namespace cupola::cpu {
namespace {

void* pages(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// Address space without memory.
void* nothing(void* where, std::size_t size) {
    return mmap(where, size, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (where ? MAP_FIXED : 0), -1, 0);
}

bool even(std::size_t value) { return value % VirtualMemory::granularity == 0; }

}  // namespace

Piece::Piece(std::shared_ptr<const SharedFile> file, const CUmemAllocationProp& properties,
             Budget* budget)
    : file_(std::move(file)), properties_(properties), budget_(budget) {}

Piece::~Piece() {
    if (budget_) budget_->give(size());
}

std::size_t Piece::size() const { return file_->size(); }

std::shared_ptr<Piece> Piece::make(std::size_t size, const CUmemAllocationProp& properties,
                                   Budget& budget) {
    require(budget.take(size), CUDA_ERROR_OUT_OF_MEMORY);
    try {
        auto file = SharedFile::make(SharedFile::Use::piece, size, properties.location.id);
        return std::make_shared<Piece>(std::move(file), properties, &budget);
    } catch (...) {
        budget.give(size);
        throw;
    }
}

std::shared_ptr<Piece> Piece::open(int descriptor, int devices) {
    auto file = SharedFile::adopt(SharedFile::Use::piece, descriptor);
    require(even(file->size()), CUDA_ERROR_UNKNOWN);
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    // The other process may have more devices than this one.
    properties.location.id = file->device() < devices ? file->device() : 0;
    return std::make_shared<Piece>(std::move(file), properties, nullptr);
}

CUmemGenericAllocationHandle VirtualMemory::keep(std::shared_ptr<Piece> piece) {
    std::lock_guard lock(mutex_);
    const auto handle = piece->handle();
    pieces_.emplace(handle, std::move(piece));
    return handle;
}

void VirtualMemory::release(CUmemGenericAllocationHandle handle) {
    std::shared_ptr<Piece> last;
    std::lock_guard lock(mutex_);
    const auto it = pieces_.find(handle);
    require(it != pieces_.end());
    if (--it->second->references > 0) return;
    last = std::move(it->second);
    pieces_.erase(it);
}

std::shared_ptr<Piece> VirtualMemory::piece(CUmemGenericAllocationHandle handle) {
    std::lock_guard lock(mutex_);
    const auto it = pieces_.find(handle);
    require(it != pieces_.end());
    return it->second;
}

CUmemGenericAllocationHandle VirtualMemory::retain(std::uintptr_t address) {
    std::lock_guard lock(mutex_);
    const Mapping& mapping = at(address);
    const auto [it, fresh] = pieces_.emplace(mapping.piece->handle(), mapping.piece);
    it->second->references = fresh ? 1 : it->second->references + 1;
    return it->first;
}

std::uintptr_t VirtualMemory::reserve(std::size_t size, std::size_t align, std::uintptr_t wish) {
    align = std::max(align, granularity);
    std::size_t whole;
    require(!__builtin_add_overflow(size, align, &whole), CUDA_ERROR_OUT_OF_MEMORY);
    // Tries the requested address first.
    if (wish && wish % align == 0) {
        void* const there =
            mmap(pages(wish), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (there == pages(wish)) {
            std::lock_guard lock(mutex_);
            reserved_.emplace(wish, size);
            return wish;
        }
        if (there != MAP_FAILED) munmap(there, size);
    }
    void* const found = nothing(nullptr, whole);
    require(found != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    const auto first = reinterpret_cast<std::uintptr_t>(found);
    const std::uintptr_t begin = (first + align - 1) / align * align;
    if (begin > first) munmap(found, begin - first);
    const std::size_t behind = first + whole - (begin + size);
    if (behind) munmap(pages(begin + size), behind);
    std::lock_guard lock(mutex_);
    reserved_.emplace(begin, size);
    return begin;
}

void VirtualMemory::free(std::uintptr_t begin, std::size_t size) {
    {
        std::lock_guard lock(mutex_);
        const auto it = reserved_.find(begin);
        require(it != reserved_.end() && it->second == size);
        const auto mapped = mappings_.lower_bound(begin);
        require(mapped == mappings_.end() || mapped->first >= begin + size);
        reserved_.erase(it);
        turns_.erase(turns_.lower_bound(begin), turns_.lower_bound(begin + size));
    }
    memory_.when_unused([begin, size] { munmap(pages(begin), size); });
}

void VirtualMemory::map(std::uintptr_t begin, std::size_t size,
                        CUmemGenericAllocationHandle handle) {
    auto what = piece(handle);
    require(size > 0 && even(begin));
    require(size == what->size(), CUDA_ERROR_NOT_SUPPORTED);
    std::lock_guard lock(mutex_);
    const auto range = reserved_.upper_bound(begin);
    require(range != reserved_.begin());
    const auto [start, length] = *std::prev(range);
    require(begin + size > begin && begin + size <= start + length);
    const auto next = mappings_.lower_bound(begin);
    require(next == mappings_.end() || next->first >= begin + size);
    require(next == mappings_.begin() ||
            std::prev(next)->first + std::prev(next)->second.size <= begin);
    what->file()->map_at(pages(begin), size);
    // Cancels the pending removal of the pages of an earlier mapping here.
    for (std::uintptr_t at = begin; at < begin + size; at += granularity) turns_[at] = ++turn_;
    Allocation like;
    like.begin = begin;
    like.size = like.capacity = size;
    like.kind = Allocation::Kind::mapped;
    like.device = what->properties().location.id;
    like.file = what->file();
    memory_.add_mapped(std::move(like));
    mappings_[begin] = {size, std::move(what), {}};
}

std::pair<VirtualMemory::Mappings::iterator, VirtualMemory::Mappings::iterator>
VirtualMemory::exactly(std::uintptr_t begin, std::size_t size) {
    const auto first = mappings_.find(begin);
    auto last = first;
    std::uintptr_t end = begin;
    require(size > 0);
    while (last != mappings_.end() && last->first == end && end < begin + size) {
        end += last->second.size;
        ++last;
    }
    require(end == begin + size);
    return {first, last};
}

void VirtualMemory::unmap(std::uintptr_t begin, std::size_t size) {
    std::vector<std::function<void()>> last_steps;
    {
        std::lock_guard lock(mutex_);
        // The range may have gaps, but no mapping in it may extend beyond it.
        const auto range = reserved_.upper_bound(begin);
        require(range != reserved_.begin());
        const auto [start, length] = *std::prev(range);
        require(size > 0 && begin + size > begin && begin + size <= start + length);
        const auto first = mappings_.lower_bound(begin), last = mappings_.lower_bound(begin + size);
        require(first == mappings_.begin() ||
                std::prev(first)->first + std::prev(first)->second.size <= begin);
        require(last == first ||
                std::prev(last)->first + std::prev(last)->second.size <= begin + size);
        for (auto it = first; it != last; ++it) {
            memory_.remove_mapped(it->first);
            // Keeps the piece alive until its pages are removed.
            for (std::size_t done = 0; done < it->second.size; done += granularity) {
                const std::uintptr_t at = it->first + done;
                last_steps.emplace_back(
                    [this, at, turn = turns_[at], piece = it->second.piece] { vacate(at, turn); });
            }
        }
        mappings_.erase(first, last);
    }
    for (auto& step : last_steps) memory_.when_unused(std::move(step));
}

void VirtualMemory::vacate(std::uintptr_t at, std::uint64_t turn) {
    std::lock_guard lock(mutex_);
    const auto it = turns_.find(at);
    if (it == turns_.end() || it->second != turn) return;
    turns_.erase(it);
    nothing(pages(at), granularity);
}

void VirtualMemory::set_access(std::uintptr_t begin, std::size_t size,
                               const CUmemAccessDesc* access, std::size_t count) {
    std::lock_guard lock(mutex_);
    const auto [first, last] = exactly(begin, size);
    for (auto it = first; it != last; ++it) {
        auto& mine = it->second.access;
        for (std::size_t i = 0; i < count; ++i) {
            if (access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
                mine.erase(access[i].location.id);
            else
                mine[access[i].location.id] = access[i].flags;
        }
        // All devices use the same memory, so all have the access of any.
        const bool write = std::any_of(mine.begin(), mine.end(), [](const auto& each) {
            return each.second == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        });
        memory_.open_mapped(it->first, write          ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                       : mine.empty() ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                                                      : CU_MEM_ACCESS_FLAGS_PROT_READ);
    }
}

VirtualMemory::Mapping& VirtualMemory::at(std::uintptr_t address) {
    auto it = mappings_.upper_bound(address);
    require(it != mappings_.begin());
    --it;
    require(address - it->first < it->second.size);
    return it->second;
}

CUmemAccess_flags VirtualMemory::access(std::uintptr_t address, int device) {
    std::lock_guard lock(mutex_);
    if (const auto plain = memory_.at(address); plain && plain->kind != Allocation::Kind::mapped)
        return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const auto& mine = at(address).access;
    const auto it = mine.find(device);
    return it == mine.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : it->second;
}

}  // namespace cupola::cpu
