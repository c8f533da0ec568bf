// csrc/cpu/traffic/traffic.hpp - counts what warps read and write, and in how many pieces.
//
// Global memory moves in sectors of 32 bytes. Shared memory has 32 banks of 4 bytes, and words of
// one bank are read one after the other. A counted launch is interpreted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/observe/observer.hpp"

namespace cupola::cpu::traffic {

constexpr std::uint64_t sector = 32;  // bytes

struct Access {
    std::uint64_t address = 0, bytes = 0;
};

// The pieces of a warp's access, and the fewest that its bytes fit.
struct Pieces {
    std::uint64_t count = 0, least = 0;
};
// The different units of `size` bytes that accesses touch, in order.
std::vector<std::uint64_t> units_of(const Access* first, const Access* end, std::uint64_t size);
std::uint64_t least_sectors(std::vector<Access> accesses);
// Addresses are offsets in the shared memory of a block.
Pieces wavefronts_of(const std::vector<Access>& accesses);

// Whether the launches from now on are counted.
void count(bool on);

// The counts since the last call. A line is one of these, with its kernel and tabs between:
//
//   access    KERNEL SPACE HOW WARPS LANES BYTES PIECES LEAST PLACE
//   footprint KERNEL READ WRITTEN       different sectors of global memory
//
// SPACE is global or shared; HOW is load, store or atomic; PLACE is a line of the source or of PTX.
std::string take();

observe::Observer& observer();

}  // namespace cupola::cpu::traffic
