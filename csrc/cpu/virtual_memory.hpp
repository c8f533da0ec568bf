// csrc/cpu/virtual_memory.hpp - addresses apart from memory: ranges that the program reserves, and
// pieces of memory that it maps into them.
//
// A piece is a file without a name (shared_file.hpp), so that it can lie at several addresses and
// in several processes. What a running grid has found stays readable: where a piece is unmapped its
// pages go when no such grid is left, unless another piece is there by then.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cpu/cuda.hpp"
#include "cpu/memory.hpp"

namespace cupola::cpu {

class SharedFile;

// What cuMemCreate makes. A handle is its address; it is kept by retained handles and by mappings.
class Piece {
  public:
    Piece(std::shared_ptr<const SharedFile> file, const CUmemAllocationProp& properties,
          Budget* budget);
    ~Piece();
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

    static std::shared_ptr<Piece> make(std::size_t size, const CUmemAllocationProp& properties);
    // Another process's, or this one's, by a descriptor of the file.
    static std::shared_ptr<Piece> open(int descriptor);

    CUmemGenericAllocationHandle handle() const {
        return reinterpret_cast<CUmemGenericAllocationHandle>(this);
    }
    const std::shared_ptr<const SharedFile>& file() const { return file_; }
    std::size_t size() const;
    const CUmemAllocationProp& properties() const { return properties_; }

    int references = 1;  // of handles that the program has; with VirtualMemory's lock

  private:
    const std::shared_ptr<const SharedFile> file_;
    const CUmemAllocationProp properties_;
    Budget* const budget_;  // null: it is another process's
};

class VirtualMemory {
  public:
    static constexpr std::size_t granularity = std::size_t{2} << 20;  // as NVIDIA's devices have

    explicit VirtualMemory(MemoryMap& memory) : memory_(memory) {}

    CUmemGenericAllocationHandle keep(std::shared_ptr<Piece> piece);
    void release(CUmemGenericAllocationHandle handle);
    std::shared_ptr<Piece> piece(CUmemGenericAllocationHandle handle);
    // The piece that is mapped where an address is, with one more reference.
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
        std::map<int, CUmemAccess_flags> access;  // of devices that have any
    };
    using Mappings = std::map<std::uintptr_t, Mapping>;
    // Those that fill [begin, begin + size) without a gap; else INVALID_VALUE.
    std::pair<Mappings::iterator, Mappings::iterator> exactly(std::uintptr_t begin,
                                                              std::size_t size);
    Mapping& at(std::uintptr_t address);
    void vacate(std::uintptr_t at, std::uint64_t turn);

    MemoryMap& memory_;
    std::mutex mutex_;
    std::map<std::uintptr_t, std::size_t> reserved_;
    Mappings mappings_;
    std::map<CUmemGenericAllocationHandle, std::shared_ptr<Piece>> pieces_;
    std::map<std::uintptr_t, std::uint64_t> turns_;  // of what lies where: who came last
    std::uint64_t turn_ = 0;
};

}  // namespace cupola::cpu
