// csrc/cpu/interpreter/memory.cpp - slow path of address checks, and texts of faults.
#include <cinttypes>
#include <cstdio>
#include <string_view>

#include "cpu/interpreter/block.hpp"
#include "cpu/observe/observer.hpp"
#include "platform/demangle.hpp"
#include "ptx/source_line.hpp"

namespace cupola::cpu::interpreter {
bool BlockState::resolve(Warp& w, const DecodedOp* ip, unsigned bytes, bool write) {
    deferred.make_all();  // the access may be of their memory from now on
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const std::uint64_t address = w.address[lane];
        if (address & (bytes - 1)) {
            fault(w, ip, Fault::Kind::misaligned_address, lane, "misaligned address", address);
            return false;
        }
        Range& cached = ranges_[ip->slot];
        if (cached.allows(address, bytes, write)) continue;
        // Local memory differs from lane to lane: no range to cache.
        if (fits(address - reinterpret_cast<std::uintptr_t>(local_of(w, lane)), bytes, local_bytes))
            continue;
        const Range found = range_around(w, lane, address, bytes);
        if (!found.allows(address, bytes, write)) {
            wild_access(w, ip, lane, address, bytes, write);
            return false;
        }
        cached = found;
    }
    return true;
}

// The memory around an address: the lane's local memory, the cluster's or the device's.
Range BlockState::range_around(const Warp& w, unsigned lane, std::uint64_t address,
                               std::uint64_t bytes) const {
    if (fits(address - shared, bytes, shared_bytes)) return {shared, shared + shared_bytes, true};
    if (const auto mine = reinterpret_cast<std::uintptr_t>(local_of(w, lane));
        fits(address - mine, bytes, local_bytes))
        return {mine, mine + local_bytes, true};
    if (fits(address - parameters, bytes, parameter_bytes))
        return {parameters, parameters + parameter_bytes, false};
    if (fits(address - cluster, bytes, cluster_bytes)) {
        // Shared memory of another block of the cluster; gaps between blocks are not accessible.
        const std::uintptr_t begin = address - (address - cluster) % cluster_stride;
        return {begin, begin + shared_bytes, true};
    }
    if (launch_.workspace.allows(address, bytes, false)) return launch_.workspace;
    return launch_.memory ? launch_.memory->find(address) : Range{};
}

std::byte* BlockState::reach(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address,
                             std::uint64_t bytes, std::uint64_t align, observe::Touch how) {
    const bool write = how != observe::Touch::read;
    if (address & (align - 1)) {
        fault(w, ip, Fault::Kind::misaligned_address, lane, "misaligned address", address);
        return nullptr;
    }
    // A large access may span several contiguous ranges.
    std::uint64_t from = address;
    for (std::uint64_t left = bytes; left != 0;) {
        const Range found = range_around(w, lane, from, 1);
        if (from < found.begin || from >= found.end || (write && !found.writable)) {
            wild_access(w, ip, lane, from, left, write);
            return nullptr;
        }
        const std::uint64_t here = found.end - from < left ? found.end - from : left;
        from += here;
        left -= here;
    }
    touch(w, ip, lane, address, bytes, how);
    return reinterpret_cast<std::byte*>(address);
}

bool BlockState::bulk(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address,
                      std::uint64_t bytes, bool write) {
    if (bytes % 16 != 0) {
        fault(w, ip, Fault::Kind::misaligned_address, lane,
              "a bulk copy needs a multiple of 16 bytes", bytes);
        return false;
    }
    // An access of zero bytes to null is valid.
    const observe::Touch how = write ? observe::Touch::write : observe::Touch::read;
    return reach(w, ip, lane, address, bytes, 16, how) != nullptr || (address == 0 && bytes == 0);
}

std::byte* BlockState::shared_bytes_at(Warp& w, const DecodedOp* ip, unsigned lane,
                                       std::uint64_t address, std::uint64_t bytes) {
    constexpr std::uint64_t most = 16777216;
    if (bytes % 8 != 0 || bytes > most) {
        fault(w, ip, Fault::Kind::misaligned_address, lane,
              "st.bulk needs a multiple of 8 bytes up to 16777216", bytes);
        return nullptr;
    }
    if (!fits(address - shared, bytes, shared_bytes)) {
        fault(w, ip, Fault::Kind::illegal_address, lane,
              "st.bulk needs shared memory of its own block", address);
        return nullptr;
    }
    return reach(w, ip, lane, address, bytes, 8, observe::Touch::write);
}

std::uintptr_t BlockState::readable_until(const Warp& w, unsigned lane,
                                          std::uintptr_t address) const {
    const auto mine = reinterpret_cast<std::uintptr_t>(local_of(w, lane));
    if (fits(address - shared, 1, shared_bytes)) return shared + shared_bytes;
    if (fits(address - mine, 1, local_bytes)) return mine + local_bytes;
    if (fits(address - parameters, 1, parameter_bytes)) return parameters + parameter_bytes;
    const Range range = launch_.memory ? launch_.memory->find(address) : Range{};
    return range.allows(address, 1, false) ? range.end : 0;
}

bool BlockState::is_constant(std::uintptr_t address) const {
    for (const auto& [begin, end] : kernel_.constant_ranges)
        if (address >= begin && address < end) return true;
    return false;
}

void BlockState::fault(Warp& w, const DecodedOp* ip, Fault::Kind kind, unsigned lane,
                       const char* what, std::uint64_t address) {
    char text[200];
    const std::string_view where = what;
    std::string limit;
    if (where == "shared memory") limit = ", of " + std::to_string(shared_bytes) + " bytes";
    if (where == "local memory") limit = ", of " + std::to_string(local_bytes) + " bytes";
    const bool plain = kind == Fault::Kind::trap || kind == Fault::Kind::stopped;
    if (plain)
        std::snprintf(text, sizeof text, "%s", what);
    else if (kind == Fault::Kind::illegal_address || kind == Fault::Kind::misaligned_address)
        std::snprintf(text, sizeof text, "%s: 0x%" PRIx64 "%s", what, address, limit.c_str());
    else
        std::snprintf(text, sizeof text, "%s (%" PRIu64 ")", what, address);
    fault_text(w, ip, kind, lane, text);
}

void BlockState::wild_access(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address,
                             std::uint64_t bytes, bool write) {
    const std::uint64_t offset = address - shared;
    const bool in_shared = offset < cluster_.stride();
    char text[120];
    std::snprintf(text, sizeof text, "illegal address, %s: 0x%" PRIx64 ", %" PRIu64 " bytes, ",
                  write ? "written" : "read", address, bytes);
    fault_text(w, ip, Fault::Kind::illegal_address, lane,
               text + (in_shared ? "at " + std::to_string(offset) + " of the block's " +
                                       std::to_string(shared_bytes) + " bytes of shared memory"
                       : launch_.memory ? launch_.memory->fault_location(address)
                                        : "nothing is allocated"));
}

std::string BlockState::thread_text(const Dim3& block, unsigned thread) const {
    const unsigned x = launch_.block.x, y = launch_.block.y;
    char text[120];
    std::snprintf(text, sizeof text, "block (%u,%u,%u), thread (%u,%u,%u)", block.x, block.y,
                  block.z, thread % x, thread / x % y, thread / x / y);
    return text;
}

std::string BlockState::line_text(std::uint32_t line) const {
    const std::string source = ptx::source_line(kernel_.source, line);
    return "PTX line " + std::to_string(line) + " (" +
           (source.empty() ? "compile with -lineinfo for the source's line" : source) + ")";
}

void BlockState::fault_text(Warp& w, const DecodedOp* ip, Fault::Kind kind, unsigned lane,
                            const std::string& what) {
    const std::string thread =
                          thread_text({index_of_block[0], index_of_block[1], index_of_block[2]},
                                      w.index * lanes + lane),
                      line = line_text(ip->line);
    fault_ =
        Fault{kind, "kernel " + title(kernel_.name()) + ", " + thread + ", " + line + ": " + what};
    observe::faulted(launch_, {kind, ip->line, line, thread, what});
}

void BlockState::describe_assertion(const Warp& w, unsigned lane, const std::string& place,
                                    const std::string& expression) {
    const unsigned thread = w.index * lanes + lane;
    char indices[120];
    std::snprintf(indices, sizeof indices, "\n%u %u %u\n%u %u %u\n", index_of_block[0],
                  index_of_block[1], index_of_block[2], thread % shape[0],
                  thread / shape[0] % shape[1], thread / shape[0] / shape[1]);
    fault_->assertion = place + indices + kernel_.name() + "\n" + expression;
}

}  // namespace cupola::cpu::interpreter
