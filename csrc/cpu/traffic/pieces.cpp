// csrc/cpu/traffic/pieces.cpp - sectors of global memory, and wavefronts of shared memory.
#include <algorithm>

#include "cpu/traffic/traffic.hpp"

namespace cupola::cpu::traffic {
namespace {

constexpr std::uint64_t word = 4, banks = 32, wavefront = word * banks;

std::uint64_t divided_up(std::uint64_t count, std::uint64_t by) { return (count + by - 1) / by; }

}  // namespace

std::vector<std::uint64_t> units_of(const Access* first, const Access* end, std::uint64_t size) {
    std::vector<std::uint64_t> units;
    for (; first != end; ++first)
        for (std::uint64_t at = first->address / size;
             at <= (first->address + first->bytes - 1) / size; ++at)
            units.push_back(at);
    std::sort(units.begin(), units.end());
    units.erase(std::unique(units.begin(), units.end()), units.end());
    return units;
}

std::uint64_t least_sectors(std::vector<Access> accesses) {
    std::sort(accesses.begin(), accesses.end(),
              [](const Access& a, const Access& b) { return a.address < b.address; });
    std::uint64_t end = 0, bytes = 0;
    for (const Access& each : accesses) {
        const std::uint64_t begin = std::max(end, each.address);
        end = std::max(end, each.address + each.bytes);
        bytes += end - begin;
    }
    return divided_up(bytes, sector);
}

Pieces wavefronts_of(const std::vector<Access>& accesses) {
    Pieces found;
    // Lanes of wide accesses take turns: 16 lanes of 8 bytes, 8 lanes of 16 bytes.
    const std::uint64_t widest = std::max(accesses.front().bytes, word);
    const std::uint64_t lanes = std::max<std::uint64_t>(1, wavefront / widest);
    for (std::size_t at = 0; at < accesses.size(); at += lanes) {
        const std::size_t end = std::min<std::size_t>(at + lanes, accesses.size());
        const auto words = units_of(accesses.data() + at, accesses.data() + end, word);
        std::uint64_t of_bank[banks] = {}, most = 0;
        for (const std::uint64_t each : words) most = std::max(most, ++of_bank[each % banks]);
        found.count += most;
        found.least += divided_up(words.size(), banks);
    }
    return found;
}

}  // namespace cupola::cpu::traffic
