// csrc/cpu/interpreter/register_file.cpp - allocates places in the register file.
#include "cpu/interpreter/register_file.hpp"

namespace cupola::cpu::interpreter {
namespace {

constexpr std::uint32_t trash_bytes = lanes * 16;  // offset 0: never read

unsigned width_class(unsigned width) {
    return width <= 2 ? 1 : width == 4 ? 2 : width == 8 ? 3 : 4;
}

}  // namespace

RegisterFile::RegisterFile(CodeBuilder& code)
    : code_(code), bytes_(trash_bytes), carry_(allocate_predicate()) {}

std::int32_t RegisterFile::allocate(unsigned width) {
    const std::uint32_t at = bytes_;
    const std::uint32_t bytes = width * lanes;
    bytes_ += bytes < 64 ? 64 : bytes;
    if (bytes_ > (1u << 30)) code_.fail(code_.line(), "a kernel has too many registers");
    return static_cast<std::int32_t>(at);
}

std::int32_t RegisterFile::allocate_predicate() {
    if (predicates_left_ == 0) {
        predicate_file_ = static_cast<std::uint32_t>(allocate(2));
        predicates_left_ = 16;
    }
    --predicates_left_;
    return static_cast<std::int32_t>(predicate_file_ + 4 * predicates_left_);
}

std::int32_t RegisterFile::temporary(unsigned width) {
    const unsigned c = width_class(width);
    if (temporaries_used_[c] == temporaries_[c].size())
        temporaries_[c].push_back(allocate(width < 2 ? 2 : width));
    return temporaries_[c][temporaries_used_[c]++];
}

std::int32_t RegisterFile::temporary_predicate() {
    if (temporaries_used_[0] == temporaries_[0].size())
        temporaries_[0].push_back(allocate_predicate());
    return temporaries_[0][temporaries_used_[0]++];
}

void RegisterFile::release_temporaries() {
    for (auto& used : temporaries_used_) used = 0;
}

std::int32_t RegisterFile::constant(unsigned width, std::uint64_t value, bool placed) {
    const auto [at, fresh] = constants_.emplace(std::make_tuple(width, value, placed), 0);
    if (fresh) {
        at->second = width == 0 ? allocate_predicate() : allocate(width);
        code_.kernel().constants.push_back({at->second, width, value, placed});
    }
    return at->second;
}

std::int32_t RegisterFile::special(unsigned which, unsigned width) {
    const auto [at, fresh] = specials_.emplace(which, 0);
    if (fresh) {
        at->second = width == 0 ? allocate_predicate() : allocate(width);
        code_.kernel().specials.push_back({which, at->second});
    }
    return at->second;
}

}  // namespace cupola::cpu::interpreter
