// csrc/dropin/recorder/memory.cpp - finds allocations by address, and copies them to the host.
#include "dropin/recorder/memory.hpp"

#include <algorithm>
#include <cstring>

namespace cupola::recorder {
namespace {

// Words that no driver uses as addresses: they are not looked up.
constexpr std::uint64_t least = std::uint64_t{1} << 16, most = std::uint64_t{1} << 57;

Piece allocation_at(std::uint64_t address) {
    unsigned type = 0;
    CUdeviceptr begin = 0;
    std::size_t size = 0;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void* values[] = {&type, &begin, &size};
    const CUresult code = CUPOLA_REAL(cuPointerGetAttributes, cuPointerGetAttributes)(
        3, names, values, static_cast<CUdeviceptr>(address));
    if (code != CUDA_SUCCESS || type == 0 || address - begin >= size) return {};
    return {begin, size, {}};
}

}  // namespace

bool Memory::is_known(std::uint64_t address) const {
    auto after = std::upper_bound(sorted_.begin(), sorted_.end(),
                                  std::make_pair(address, ~std::uint64_t{0}));
    return after != sorted_.begin() && address < (--after)->second;
}

void Memory::add(Piece piece) {
    const auto range = std::make_pair(piece.begin, piece.begin + piece.bytes);
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), range), range);
    pieces_.push_back(std::move(piece));
}

// Its range stays known, so that it is not found again.
void Memory::remove(std::size_t index) {
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Memory::follow(std::string_view bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, sizeof word);
        if (word < least || word >= most || is_known(word) || misses_.count(word)) continue;
        Piece found = allocation_at(word);
        if (found.bytes == 0)
            misses_.insert(word);
        else
            add(std::move(found));
    }
}

std::vector<Piece> variables_of(const Function& function) {
    std::vector<Piece> found;
    for (const std::string& name : function.image->variables()) {
        CUdeviceptr begin = 0;
        std::size_t size = 0;
        const CUresult code = function.library
                                  ? CUPOLA_REAL(cuLibraryGetGlobal, cuLibraryGetGlobal)(
                                        &begin, &size, function.library, name.c_str())
                                  : CUPOLA_REAL(cuModuleGetGlobal_v2, cuModuleGetGlobal)(
                                        &begin, &size, function.module, name.c_str());
        if (code == CUDA_SUCCESS && size) found.push_back({begin, size, name});
    }
    return found;
}

bool read(const Piece& piece, std::string& out) {
    out.resize(piece.bytes);
    return CUPOLA_REAL(cuMemcpyDtoH_v2, cuMemcpyDtoH)(out.data(), piece.begin, piece.bytes) ==
           CUDA_SUCCESS;
}

}  // namespace cupola::recorder
