// csrc/cpu/interpreter/video_decoder.cpp - video instructions: arithmetic on parts of registers.
//
// They are rare, so one handler runs them lane by lane from an encoded description.
#include "cpu/interpreter/video_decoder.hpp"

#include <algorithm>

namespace cupola::cpu::interpreter {
namespace {

using ptx::video::Operation;
using ptx::video::Second;
namespace video = ptx::video;

constexpr Operation video_operations[] = {
#define FORM(mnemonic, semantics, ...) Operation::semantics,
#include "ptx/table/video.inc"
#undef FORM
};

// The contents of DecodedOp::imm and DecodedOp::slot.
struct Described {
    ptx::Bits modifiers;
    std::uint16_t a, b, d;  // selectors
    Operation operation;
    unsigned parts;  // per register: 1, 2 or 4
    bool a_signed, d_signed, minus_a, minus_b, minus_c;

    explicit Described(const DecodedOp& c)
        : modifiers(static_cast<std::uint16_t>(c.imm)),
          a(static_cast<std::uint16_t>(c.imm >> 16)),
          b(static_cast<std::uint16_t>(c.imm >> 32)),
          d(static_cast<std::uint16_t>(c.imm >> 48)),
          operation(static_cast<Operation>(c.slot & 15)),
          parts(c.slot >> 4 & 7),
          a_signed(c.slot >> 8 & 1),
          d_signed(c.slot >> 9 & 1),
          minus_a(c.slot >> 10 & 1),
          minus_b(c.slot >> 11 & 1),
          minus_c(c.slot >> 12 & 1) {}

    bool b_signed() const { return video::b_signed.get(modifiers) != 0; }
    bool saturates() const { return video::saturate.get(modifiers) != 0; }
};

using Whole = __int128;

std::int64_t extended(std::uint64_t bits, unsigned width, bool sign) {
    const std::uint64_t kept = bits & ((std::uint64_t{1} << width) - 1);
    const bool negative = sign && (kept >> (width - 1) & 1);
    return static_cast<std::int64_t>(kept) -
           (negative ? static_cast<std::int64_t>(std::uint64_t{1} << width) : 0);
}

std::int64_t selected(std::uint32_t x, std::uint16_t selector, bool sign) {
    if (selector == 0) return extended(x, 32, sign);
    const unsigned width = (selector & ptx::selector_half) ? 16 : 8;
    return extended(x >> width * ptx::selector_part(selector, 0), width, sign);
}

Whole clamped_to(Whole x, unsigned width, bool sign) {
    const Whole top = (Whole{1} << (sign ? width - 1 : width)) - 1, bottom = sign ? -top - 1 : 0;
    return std::clamp(x, bottom, top);
}

bool holds(ptx::Compare compare, std::int64_t a, std::int64_t b) {
    switch (compare) {
        case ptx::Compare::eq:
            return a == b;
        case ptx::Compare::ne:
            return a != b;
        case ptx::Compare::lt:
            return a < b;
        case ptx::Compare::le:
            return a <= b;
        case ptx::Compare::gt:
            return a > b;
        default:
            return a >= b;
    }
}

Whole joined(const Described& v, std::int64_t a, std::int64_t b) {
    switch (v.operation) {
        case Operation::add:
            return Whole{a} + b;
        case Operation::sub:
            return Whole{a} - b;
        case Operation::absdiff:
            return a > b ? Whole{a} - b : Whole{b} - a;
        case Operation::min:
            return std::min(a, b);
        case Operation::max:
            return std::max(a, b);
        case Operation::average:
            return (Whole{a} + b + (Whole{a} + b >= 0)) >> 1;
        case Operation::set:
            return holds(static_cast<ptx::Compare>(video::compare.get(v.modifiers)), a, b);
        default: {
            const bool wraps = video::wrap.get(v.modifiers) != 0;
            const auto n = static_cast<unsigned>(wraps ? b & 31 : std::min<std::int64_t>(b, 32));
            return v.operation == Operation::shl ? Whole{a} * (Whole{1} << n) : Whole{a} >> n;
        }
    }
}

std::uint32_t multiplied(const Described& v, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    const bool plus_one = video::plus_one.get(v.modifiers) != 0, minus = v.minus_a != v.minus_b;
    const bool sign = v.a_signed || v.b_signed() || minus || v.minus_c;
    Whole product = Whole{selected(x, v.a, v.a_signed)} * selected(y, v.b, v.b_signed());
    Whole c = sign ? extended(z, 32, true) : Whole{z};
    if (!plus_one && minus)
        product = -product;
    else if (!plus_one && v.minus_c)
        c = sign ? -c : Whole{extended(~z, 32, true)} + 1;
    Whole sum = product + c + (plus_one ? 1 : 0);
    sum >>= video::scale.get(v.modifiers) == 0 ? 0 : video::scale.get(v.modifiers) == 1 ? 7 : 15;
    if (v.saturates()) sum = clamped_to(sum, 32, sign);
    return static_cast<std::uint32_t>(sum);
}

// One part or all of each register; c is combined with the result, or the result is inserted
// into c.
std::uint32_t single(const Described& v, std::uint32_t x, std::uint32_t y, std::uint32_t c) {
    if (v.operation == Operation::mad) return multiplied(v, x, y, c);
    const bool set = v.operation == Operation::set;
    const bool b_signed = set ? v.d_signed : v.b_signed();
    Whole t = joined(v, selected(x, v.a, v.a_signed), selected(y, v.b, b_signed));
    const unsigned width = v.d == 0 ? 32 : (v.d & ptx::selector_half) ? 16 : 8;
    const bool d_signed = !set && v.d_signed;
    if (v.saturates()) t = clamped_to(t, width, d_signed);
    const auto bits = static_cast<std::uint32_t>(t);
    if (v.d != 0) {
        const unsigned at = width * ptx::selector_part(v.d, 0);
        const std::uint32_t mask = ((1u << width) - 1) << at;
        return (bits << at & mask) | (c & ~mask);
    }
    const auto less = [&] {
        return d_signed ? static_cast<std::int32_t>(bits) < static_cast<std::int32_t>(c) : bits < c;
    };
    switch (static_cast<Second>(video::second.get(v.modifiers))) {
        case Second::add:
            return bits + c;
        case Second::min:
            return less() ? bits : c;
        case Second::max:
            return less() ? c : bits;
        default:
            return bits;
    }
}

// Computes 2 or 4 parts. A part that the destination mask selects replaces its part of c, or is
// added to c.
std::uint32_t several(const Described& v, std::uint32_t x, std::uint32_t y, std::uint32_t c) {
    const unsigned width = 32 / v.parts;
    const std::uint64_t both = std::uint64_t{y} << 32 | x;
    const bool set = v.operation == Operation::set;
    const bool adds = video::accumulate.get(v.modifiers) != 0;
    unsigned named = v.d == 0 ? (1u << v.parts) - 1 : 0;
    for (unsigned n = 0; n < ptx::selector_count(v.d); ++n)
        named |= 1u << ptx::selector_part(v.d, n);
    std::uint32_t out = c;
    for (unsigned n = 0; n < v.parts; ++n) {
        if (!(named >> n & 1)) continue;
        const unsigned from_a = v.a == 0 ? n : ptx::selector_part(v.a, n);
        const unsigned from_b = v.b == 0 ? v.parts + n : ptx::selector_part(v.b, n);
        Whole t = joined(v, extended(both >> width * from_a, width, v.a_signed),
                         extended(both >> width * from_b, width, set ? v.d_signed : v.b_signed()));
        if (v.saturates()) t = clamped_to(t, width, v.d_signed);
        if (adds) {
            out += static_cast<std::uint32_t>(t);
            continue;
        }
        const std::uint32_t mask = ((1u << width) - 1) << width * n;
        out = (out & ~mask) | (static_cast<std::uint32_t>(t) << width * n & mask);
    }
    return out;
}

[[gnu::noinline]] const DecodedOp* run_video(const DecodedOp* ip, Warp& w, std::byte* r) {
    const Described v(*ip);
    auto* d = at<std::uint32_t>(r, ip->op[0]);
    const auto *a = at<const std::uint32_t>(r, ip->op[1]),
               *b = at<const std::uint32_t>(r, ip->op[2]),
               *c = at<const std::uint32_t>(r, ip->op[3]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        d[lane] = v.parts == 1 ? single(v, a[lane], b[lane], c[lane])
                               : several(v, a[lane], b[lane], c[lane]);
    }
    return ip + 1;
}

}  // namespace

void VideoDecoder::decode(const ptx::Instruction& i) {
    const ptx::Form& form = i.form.form();
    const Operation operation = video_operations[i.form.row()];
    const unsigned parts = form.opcode == Opcode::simd_video_2   ? 2
                           : form.opcode == Opcode::simd_video_4 ? 4
                                                                 : 1;
    const ptx::Operand &d = functions_.operand(i, 0), &a = functions_.operand(i, 1),
                       &b = functions_.operand(i, 2);
    const bool third = form.operands.count > 3;
    const bool negated = a.negated || b.negated || (third && functions_.operand(i, 3).negated);
    if (negated && operation != Operation::mad)
        code_.fail(i.line, "only vmad operands can have '-'");
    if (negated && ptx::video::plus_one.get(i.modifiers) != 0)
        code_.fail(i.line, "an operand of .po cannot have '-'");
    const auto fits = [&](std::uint16_t selector, bool into) {
        if (selector == 0) return true;
        const unsigned count = ptx::selector_count(selector);
        const bool half = (selector & ptx::selector_half) != 0;
        if (parts > 1) return half == (parts == 2) && (into ? count <= parts : count == parts);
        return count == 1 && ptx::selector_part(selector, 0) < (half ? 2u : 4u);
    };
    bool inside = true;  // the destination selects its own parts, each once
    unsigned seen = 0;
    for (unsigned n = 0; n < ptx::selector_count(d.selector); ++n) {
        const unsigned part = ptx::selector_part(d.selector, n);
        const unsigned all = (d.selector & ptx::selector_half) ? 2 : 4;
        inside &= part < all && !(seen >> part & 1);
        seen |= 1u << part;
    }
    if (!fits(a.selector, false) || !fits(b.selector, false) || !fits(d.selector, true) || !inside)
        code_.fail(i.line, "the instruction does not support this selector");
    if (parts == 1 && third && operation != Operation::mad &&
        (d.selector != 0) == (ptx::video::second.get(i.modifiers) != 0))
        code_.fail(i.line, "a second operation and a destination selector exclude each other");
    if (ptx::video::saturate.get(i.modifiers) != 0 && ptx::video::accumulate.get(i.modifiers) != 0)
        code_.fail(i.line, ".sat and .add exclude each other");
    // vset names the types of its two sources. Other instructions name the types of the result and
    // of the first source.
    const bool set = operation == Operation::set;
    const bool a_signed = ptx::is_signed(set ? i.type : i.type2);
    const bool d_signed = ptx::is_signed(set ? i.type2 : i.type);
    const std::int32_t from_a = operands_.source(a, Type::b32),
                       from_b = operands_.source(b, Type::b32),
                       from_c = third ? operands_.source(functions_.operand(i, 3), Type::b32)
                                      : registers_.constant(4, 0);
    DecodedOp& code =
        code_.emit(&threaded<&run_video>, operands_.destination(d), from_a, from_b, from_c);
    code.imm = static_cast<std::int64_t>((i.modifiers & 0xffff) | std::uint64_t{a.selector} << 16 |
                                         std::uint64_t{b.selector} << 32 |
                                         std::uint64_t{d.selector} << 48);
    code.slot = static_cast<unsigned>(operation) | parts << 4 | unsigned{a_signed} << 8 |
                unsigned{d_signed} << 9 | unsigned{a.negated} << 10 | unsigned{b.negated} << 11 |
                unsigned{third && functions_.operand(i, 3).negated} << 12;
}

}  // namespace cupola::cpu::interpreter
