// csrc/cpu/device/memory/virtual_memory.hpp - virtual memory management: ranges of addresses that
// the program reserves, and pieces of memory that it maps into them.
//
// A piece is an unnamed file (shared_file.hpp), so it can be mapped at several addresses and in
// several processes. A running grid may have looked up a piece that is unmapped. So its pages are
// removed when no such grid is left, unless another piece has been mapped there.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/memory/memory.hpp"

namespace cupola::cpu {

class SharedFile;

// A piece of memory from cuMemCreate. A handle is its address; handles and mappings keep it alive.
class Piece {
  public:
    Piece(std::shared_ptr<const SharedFile> file, const CUmemAllocationProp& properties,
          Budget* budget);
    ~Piece();
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

    // `budget` is the budget of the device that the properties name.
    static std::shared_ptr<Piece> make(std::size_t size, const CUmemAllocationProp& properties,
                                       Budget& budget);
    // A piece of this or another process, by a descriptor of the file. `devices` is the number of
    // devices of this process.
    static std::shared_ptr<Piece> open(int descriptor, int devices);

    CUmemGenericAllocationHandle handle() const {
        return reinterpret_cast<CUmemGenericAllocationHandle>(this);
    }
    const std::shared_ptr<const SharedFile>& file() const { return file_; }
    std::size_t size() const;
    const CUmemAllocationProp& properties() const { return properties_; }

    int references = 1;  // handles of the program; guarded by VirtualMemory's lock

  private:
    const std::shared_ptr<const SharedFile> file_;
    const CUmemAllocationProp properties_;
    Budget* const budget_;  // null for a piece of another process
};

class VirtualMemory {
  public:
    static constexpr std::size_t granularity = std::size_t{2} << 20;  // as on NVIDIA's devices

    explicit VirtualMemory(MemoryMap& memory) : memory_(memory) {}

    CUmemGenericAllocationHandle keep(std::shared_ptr<Piece> piece);
    void release(CUmemGenericAllocationHandle handle);
    std::shared_ptr<Piece> piece(CUmemGenericAllocationHandle handle);
    // The piece that is mapped at an address, with one more reference.
    CUmemGenericAllocationHandle retain(std::uintptr_t address);

    std::uintptr_t reserve(std::size_t size, std::size_t align, std::uintptr_t wish);
    void free(std::uintptr_t begin, std::size_t size);

    void map(std::uintptr_t begin, std::size_t size, CUmemGenericAllocationHandle handle);
    void unmap(std::uintptr_t begin, std::size_t size);
    void set_access(std::uintptr_t begin, std::size_t size, const CUmemAccessDesc* access,
                    std::size_t count);
    CUmemAccess_flags access(std::uintptr_t address, int device);

  private:
    struct Mapping {
        std::size_t size = 0;
        std::shared_ptr<Piece> piece;
        std::map<int, CUmemAccess_flags> access;  // only devices with access
    };
    using Mappings = std::map<std::uintptr_t, Mapping>;
    // The mappings that fill [begin, begin + size) without a gap; throws INVALID_VALUE otherwise.
    std::pair<Mappings::iterator, Mappings::iterator> exactly(std::uintptr_t begin,
                                                              std::size_t size);
    Mapping& at(std::uintptr_t address);
    void vacate(std::uintptr_t at, std::uint64_t turn);

    MemoryMap& memory_;
    std::mutex mutex_;
    std::map<std::uintptr_t, std::size_t> reserved_;
    Mappings mappings_;
    std::map<CUmemGenericAllocationHandle, std::shared_ptr<Piece>> pieces_;
    std::map<std::uintptr_t, std::uint64_t> turns_;  // number of the last mapping at each address
    std::uint64_t turn_ = 0;
};

}  // namespace cupola::cpu
