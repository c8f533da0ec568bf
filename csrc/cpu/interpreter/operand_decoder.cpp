// csrc/cpu/interpreter/operand_decoder.cpp - finds the registers, constants and addresses of
// operands.
#include "cpu/interpreter/operand_decoder.hpp"

#include <cstring>

#include "cpu/interpreter/control.hpp"

namespace cupola::cpu::interpreter {
namespace {

// The bits of an immediate as a value of a type.
std::uint64_t bits_in(const ptx::Operand& o, Type type) {
    const auto bits = static_cast<std::uint64_t>(o.value);
    if (o.kind == Kind::real && type == Type::f32) {
        double d;
        std::memcpy(&d, &bits, sizeof d);
        const auto f = static_cast<float>(d);
        std::uint32_t low;
        std::memcpy(&low, &f, sizeof low);
        return low;
    }
    if (o.kind == Kind::single && type == Type::f64) {
        float f;
        const auto low = static_cast<std::uint32_t>(bits);
        std::memcpy(&f, &low, sizeof f);
        const double d = f;
        std::uint64_t out;
        std::memcpy(&out, &d, sizeof out);
        return out;
    }
    const unsigned width = ptx::bytes_of(type);
    return width >= 8 ? bits : bits & ((std::uint64_t{1} << 8 * width) - 1);
}

}  // namespace

// Extends the sign, or with zeros.
Type resizable(unsigned width, bool sign) {
    if (sign)
        return width == 1 ? Type::s8 : width == 2 ? Type::s16 : width == 4 ? Type::s32 : Type::s64;
    return width == 1 ? Type::u8 : width == 2 ? Type::u16 : width == 4 ? Type::u32 : Type::u64;
}

std::int32_t OperandDecoder::reg(std::uint32_t index) {
    std::int32_t& offset = functions_.part().registers[index];
    if (offset == 0) {
        const Type type = functions_.current().registers[index];
        offset = type == Type::pred ? registers_.allocate_predicate()
                                    : registers_.allocate(ptx::bytes_of(type));
    }
    return offset;
}

std::int32_t OperandDecoder::source(const ptx::Operand& o, Type type) {
    const unsigned width = ptx::bytes_of(type);
    switch (o.kind) {
        case Kind::reg:
            return reg(o.index);
        case Kind::integer:
        case Kind::real:
        case Kind::single:
            return registers_.constant(width, bits_in(o, type));
        case Kind::variable:
            return symbols_.visible_address(o.index, static_cast<std::uint64_t>(o.value), width);
        case Kind::frame:
            return symbols_.frame_address(o.index, o.value, width);
        case Kind::function:
            if (!functions_.module().functions[o.index].defined)
                code_.fail(
                    code_.line(),
                    "function '" + functions_.module().functions[o.index].name + "' is not defined",
                    true);
            return registers_.constant(width, symbols_.function_address(o.index), true);
        case Kind::special:
            return special(static_cast<ptx::Special>(o.index), width);
        default:
            code_.fail(code_.line(), "an operand cannot be read");
    }
}

std::int32_t OperandDecoder::special(ptx::Special which, unsigned width) {
    using S = ptx::Special;
    if (which == S::warp_size) return registers_.constant(width, 32);
    const unsigned own = which == S::clock64 || which == S::globaltimer || which == S::gridid ||
                                 which == S::current_graph_exec || which == S::performance64
                             ? 8
                             : 4;
    BoundHandler read;
    switch (which) {
        case S::clock:
            read = control.read_clock;
            break;
        case S::clock_hi:
            read = control.read_clock_high;
            break;
        case S::clock64:
            read = control.read_clock64;
            break;
        case S::globaltimer:
            read = control.read_timer;
            break;
        case S::globaltimer_lo:
            read = control.read_timer_low;
            break;
        case S::globaltimer_hi:
            read = control.read_timer_high;
            break;
        default:
            break;
    }
    std::int32_t at;
    if (read) {
        at = registers_.temporary(own);
        code_.emit(read, at);
    } else {
        at = registers_.special(static_cast<unsigned>(which), own);
    }
    if (own == width) return at;
    const std::int32_t t = registers_.temporary(width);
    resize(t, resizable(width, false), at, own == 8 ? Type::u64 : Type::u32);
    return t;
}

std::int32_t OperandDecoder::relaxed_source(const ptx::Operand& o, Type type) {
    const unsigned width = ptx::bytes_of(type);
    if (o.kind != Kind::reg || ptx::bytes_of(o.type) == width) return source(o, type);
    const std::int32_t t = registers_.temporary(width);
    resize(t, resizable(width, false), reg(o.index), resizable(ptx::bytes_of(o.type), false));
    return t;
}

std::int32_t OperandDecoder::predicate(const ptx::Operand& o) {
    if (o.kind == Kind::integer)
        return registers_.constant(0, (o.value != 0) != o.negated ? all_lanes : 0);
    const std::int32_t at = o.kind == Kind::special ? registers_.special(o.index, 0) : reg(o.index);
    if (!o.negated) return at;
    const std::int32_t t = registers_.temporary_predicate();
    code_.emit("not.pred", t, at);
    return t;
}

void OperandDecoder::resize(std::int32_t to, Type to_type, std::int32_t from, Type from_type) {
    code_.emit("cvt." + std::string(name_of(to_type)) + "." + std::string(name_of(from_type)), to,
               from);
}

}  // namespace cupola::cpu::interpreter
