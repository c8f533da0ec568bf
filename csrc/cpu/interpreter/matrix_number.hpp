// csrc/cpu/interpreter/matrix_number.hpp - elements of matrices as numbers: a mantissa and an
// exponent.
#pragma once

#include <cstdint>

#include "cpu/isa/matrix_tile.hpp"
#include "ptx/matrix.hpp"

namespace cupola::cpu::interpreter {

FloatLayout layout_of(ptx::Element e);

constexpr std::int32_t lowest_exponent = -100000;  // exponent of a zero: below all others

// mantissa * 2^(exponent - layout.mantissa); denormals are not normalized.
struct Number {
    std::int32_t mantissa = 0, exponent = lowest_exponent;
    enum class Kind : std::uint8_t { finite, infinite, nan } kind = Kind::finite;
};

// Converts bits of one type to numbers.
class Unpacker {
  public:
    explicit Unpacker(ptx::Element e)
        : layout_(layout_of(e)),
          top_((1 << layout_.exponent) - 1),
          hidden_(1 << layout_.mantissa),
          e4m3_(e == ptx::Element::e4m3),
          finite_(layout_.exponent < 4) {}

    Number operator()(std::uint64_t all) const {
        const auto bits = static_cast<std::uint32_t>(all) >> layout_.unused;
        const auto fraction = static_cast<std::int32_t>(bits) & (hidden_ - 1);
        const std::int32_t field = static_cast<std::int32_t>(bits >> layout_.mantissa) & top_;
        Number out;
        out.mantissa = field == 0 ? fraction : fraction | hidden_;
        if (out.mantissa != 0) out.exponent = (field == 0 ? 1 : field) - (top_ >> 1);
        if (field == top_ && !finite_) out.kind = special(fraction);
        if (bits >> (layout_.mantissa + layout_.exponent) & 1) out.mantissa = -out.mantissa;
        return out;
    }

  private:
    Number::Kind special(std::int32_t fraction) const {
        if (e4m3_)  // no infinity, and one NaN of each sign
            return fraction == 7 ? Number::Kind::nan : Number::Kind::finite;
        return fraction != 0 ? Number::Kind::nan : Number::Kind::infinite;
    }

    FloatLayout layout_;
    std::int32_t top_, hidden_;
    bool e4m3_;
    bool finite_;  // floats of 4 and 6 bits have no infinity and no NaN
};

// Shifts the leading bit to where a normal number has it.
Number normalised(Number x, const FloatLayout& l);

// magnitude * 2^exponent in a float layout, truncated or rounded to nearest even.
std::uint64_t pack(bool negative, std::uint64_t magnitude, int exponent, const FloatLayout& l,
                   bool nearest);

}  // namespace cupola::cpu::interpreter
