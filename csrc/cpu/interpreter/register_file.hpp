// csrc/cpu/interpreter/register_file.hpp - the places in the register file of a warp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "cpu/interpreter/code_builder.hpp"

namespace cupola::cpu::interpreter {

// A place is an offset in bytes. Offset 0 is for results that nothing reads. `width`: bytes of a
// lane; 0: a predicate.
class RegisterFile {
  public:
    explicit RegisterFile(CodeBuilder& code);

    std::int32_t allocate(unsigned width);
    std::int32_t allocate_predicate();
    // Places that are free again after the instruction.
    std::int32_t temporary(unsigned width);
    std::int32_t temporary_predicate();
    void release_temporaries();
    // `placed`: the value is an address of this process.
    std::int32_t constant(unsigned width, std::uint64_t value, bool placed = false);
    // `which`: a ptx::Special or a Hidden.
    std::int32_t special(unsigned which, unsigned width);
    std::int32_t special(Hidden which, unsigned width) {
        return special(static_cast<unsigned>(which), width);
    }
    bool has(Hidden which) const { return specials_.count(static_cast<unsigned>(which)) != 0; }
    // The carry flag of extended arithmetic.
    std::int32_t carry() const { return carry_; }
    std::uint32_t bytes() const { return bytes_; }

  private:
    CodeBuilder& code_;
    std::uint32_t bytes_;  // so far
    std::uint32_t predicate_file_ = 0, predicates_left_ = 0;
    std::map<std::tuple<unsigned, std::uint64_t, bool>, std::int32_t> constants_;
    std::map<unsigned, std::int32_t> specials_;
    std::vector<std::int32_t> temporaries_[5];  // predicates, and widths 1-2, 4, 8 and 16
    std::size_t temporaries_used_[5] = {};
    std::int32_t carry_;
};

}  // namespace cupola::cpu::interpreter
