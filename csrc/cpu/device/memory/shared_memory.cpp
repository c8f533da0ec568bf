// csrc/cpu/device/memory/shared_memory.cpp - shares memory with other processes. A shared
// allocation becomes pages of a file, in place. Memory of another process becomes a new allocation.
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "cpu/device/base/failure.hpp"
#include "cpu/device/base/quiesce.hpp"
#include "cpu/device/memory/memory.hpp"
#include "cpu/device/memory/shared_file.hpp"

namespace cupola::cpu {
namespace {

struct Mapping {
    explicit Mapping(const SharedFile& file) : memory(file.map()), length(file.length()) {}
    ~Mapping() {
        if (memory) munmap(memory, length);
    }
    std::uintptr_t release() {
        return reinterpret_cast<std::uintptr_t>(std::exchange(memory, nullptr));
    }

    void* memory;
    const std::size_t length;
};

}  // namespace

// Copies the content while no work runs that could change it. The address stays.
std::shared_ptr<const SharedFile> MemoryMap::share(std::uintptr_t address, QuiesceGate& gate,
                                                   const SharedFile::Number& owner) {
    std::lock_guard once(sharing_);
    const auto before = at(address);
    const bool pooled = before && before->shareable;
    require(pooled || (before && before->kind == Allocation::Kind::device && !before->module));
    require(before->mapped != 0, CUDA_ERROR_OUT_OF_MEMORY);
    if (before->file) return before->file;
    const std::shared_ptr<const SharedFile> file = SharedFile::make(
        SharedFile::Use::memory, pooled ? before->capacity : before->size, before->device, owner);
    Mapping fresh(*file);
    gate.run_quiesced([&] {
        std::unique_lock lock(mutex_);
        const auto now = table_.find(before->begin);
        require(now != table_.end() && now->second.id == before->id);  // not freed meanwhile
        Allocation& allocation = now->second;
        auto* const place = reinterpret_cast<void*>(allocation.begin);
        std::memcpy(fresh.memory, place, file->size());
        require(mremap(fresh.memory, fresh.length, fresh.length, MREMAP_MAYMOVE | MREMAP_FIXED,
                       place) == place,
                CUDA_ERROR_OUT_OF_MEMORY);
        fresh.release();
        unwritten.remove(allocation.begin);  // writes of other processes are invisible to the check
        allocation.file = file;
    });
    return file;
}

std::uintptr_t MemoryMap::open(Allocation like, const void* name, const SharedFile::Number& owner) {
    std::shared_ptr<const SharedFile> file = SharedFile::open(SharedFile::Use::memory, name);
    require(file->owner() == owner);
    std::lock_guard once(sharing_);
    {
        std::unique_lock lock(mutex_);
        for (auto& [begin, allocation] : table_) {
            if (allocation.kind != Allocation::Kind::imported ||
                allocation.file->number() != file->number())
                continue;
            require(allocation.context == like.context, CUDA_ERROR_INVALID_CONTEXT);
            ++allocation.opened;
            ++allocation.held;
            return begin;
        }
    }
    Mapping mapping(*file);
    like.kind = Allocation::Kind::imported;
    like.size = file->size();
    like.mapped = file->length();
    like.opened = like.held = 1;
    like.begin = reinterpret_cast<std::uintptr_t>(mapping.memory);
    like.file = std::move(file);
    std::unique_lock lock(mutex_);
    like.id = ++last_id_;
    table_.emplace(like.begin, like);
    ranges_.insert({like.begin, like.end(), true});
    return mapping.release();
}

std::uint64_t MemoryMap::close(std::uintptr_t begin) {
    std::unique_lock lock(mutex_);
    const auto it = table_.find(begin);
    require(it != table_.end() && it->second.kind == Allocation::Kind::imported &&
            it->second.opened > 0);
    --it->second.opened;
    return it->second.id;
}

// The end of the memory's context may have freed the memory already.
void MemoryMap::drop_closed(std::uintptr_t begin, std::uint64_t id, Budget& budget) {
    Allocation gone;
    {
        std::unique_lock lock(mutex_);
        const auto it = table_.find(begin);
        if (it == table_.end() || it->second.id != id || --it->second.held > 0) return;
        gone = take_out(it);
    }
    discard(std::move(gone), budget);
}

}  // namespace cupola::cpu
