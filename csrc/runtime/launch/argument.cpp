// csrc/runtime/launch/argument.cpp - checks and writes one argument of a launch.
//
// These functions run for every argument of every launch, so the paths without an error are short.
#include "runtime/launch/argument.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "runtime/base/half.hpp"
#include "runtime/context/flight.hpp"

namespace cupola {
namespace {

std::string where(const Kernel& kernel, std::size_t index) {
    std::string text = kernel.title + ": argument " + std::to_string(index);
    if (index < kernel.parameters().size() && !kernel.parameters()[index].name.empty())
        text += " (" + kernel.parameters()[index].name + ")";
    return text + ": ";
}

[[noreturn, gnu::cold, gnu::noinline]] void no_parameter(const Kernel& kernel, std::size_t index) {
    kernel.require_known();
    fail(CUPOLA_ERROR_TYPE, kernel.title + ": takes " + std::to_string(kernel.parameters().size()) +
                                " arguments, there is no argument " + std::to_string(index));
}

inline const Parameter& parameter(const Kernel& kernel, std::size_t index) {
    if (__builtin_expect(index >= kernel.parameters().size(), 0)) no_parameter(kernel, index);
    return kernel.parameters()[index];
}

std::string float_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "the float %g", value);
    return text;
}

// The range of an integer parameter, as " (-128 to 127)". If it is not known whether the type is
// signed, the range covers both: " (-128 to 255)".
std::string range_text(const Parameter& p) {
    const unsigned width = p.size * 8;
    const bool below = !(p.kind & CUPOLA_UNSIGNED);
    const unsigned room = p.kind & CUPOLA_SIGNED ? width - 1 : width;
    const std::uint64_t most =
        p.type == "bool" ? 1 : std::numeric_limits<std::uint64_t>::max() >> (64 - room);
    return " (" + (below ? "-" + std::to_string(std::uint64_t(1) << (width - 1)) : "0") + " to " +
           std::to_string(most) + ")";
}

// Little-endian, as every platform of CUDA is: the low bytes come first.
void store(void* buffer, const Parameter& p, std::uint64_t bits) {
    auto* to = static_cast<char*>(buffer) + p.offset;
    switch (p.size) {
        case 8:
            std::memcpy(to, &bits, 8);
            break;
        case 4:
            std::memcpy(to, &bits, 4);
            break;
        default:
            std::memcpy(to, &bits, p.size);
            break;
    }
}

template <class T>
std::uint64_t bits_of(T value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

}  // namespace

void fail_argument(const Kernel& kernel, std::size_t index, cupola_status status,
                   const std::string& got) {
    const Parameter& p = kernel.parameters()[index];
    // A remedy follows a semicolon.
    const bool without_remedy = p.kind == CUPOLA_STRUCT && got.find(';') == std::string::npos;
    fail(status, where(kernel, index) + "expected " + describe(p) + ", got " + got +
                     (without_remedy ? "; pass a structured scalar of NumPy, a ctypes structure or "
                                       "bytes of its size, or a dict of its fields"
                                     : ""));
}

const Parameter& parameter_of(const Kernel& kernel, std::size_t index) {
    return parameter(kernel, index);
}

void put_float(const Kernel& kernel, std::size_t index, void* buffer, double value) {
    const Parameter& p = parameter(kernel, index);
    if (!(p.kind & CUPOLA_FLOAT)) {
        const bool half = p.size == 2 && !(p.kind & CUPOLA_POINTER) && p.type.empty();
        const bool integer = p.kind & CUPOLA_INTEGER && !(p.kind & CUPOLA_POINTER);
        fail_argument(kernel, index, CUPOLA_ERROR_TYPE,
                      float_text(value) + (half      ? "; the two-byte float may be float16 or "
                                                       "bfloat16: pass numpy.float16 or bytes"
                                           : integer ? "; pass int(x)"
                                                     : ""));
    }
    auto too_large = [&] {
        fail_argument(kernel, index, CUPOLA_ERROR_VALUE,
                      float_text(value) + ", which is out of its range");
    };
    if (p.size == 8) return store(buffer, p, bits_of(value));
    if (p.size == 4) {
        const float narrow = static_cast<float>(value);
        if (__builtin_expect(std::isinf(narrow) && !std::isinf(value), 0)) too_large();
        return store(buffer, p, bits_of(narrow));
    }
    const bool bfloat = p.kind & CUPOLA_BFLOAT;
    const std::uint16_t narrow = bfloat ? to_bfloat16(value) : to_float16(value);
    const std::uint16_t infinity = bfloat ? 0x7f80 : 0x7c00;
    if ((narrow & 0x7fff) == infinity && !std::isinf(value)) too_large();
    store(buffer, p, narrow);
}

void put_integer(const Kernel& kernel, std::size_t index, void* buffer, std::uint64_t bits,
                 bool negative) {
    const Parameter& p = parameter(kernel, index);
    auto number = [&] {
        return negative ? std::to_string(static_cast<std::int64_t>(bits)) : std::to_string(bits);
    };
    if (__builtin_expect(!(p.kind & CUPOLA_INTEGER), 0)) {
        if (p.kind & CUPOLA_POINTER && !negative) return store(buffer, p, bits);
        if (p.kind & CUPOLA_FLOAT)
            return put_float(kernel, index, buffer,
                             negative ? static_cast<double>(static_cast<std::int64_t>(bits))
                                      : static_cast<double>(bits));
        fail_argument(kernel, index, CUPOLA_ERROR_TYPE, "the integer " + number());
    }
    const unsigned width = p.size * 8;
    const bool fits_below =
        !negative || (!(p.kind & CUPOLA_UNSIGNED) && static_cast<std::int64_t>(bits) >=
                                                         std::numeric_limits<std::int64_t>::min() >>
                                                         (64 - width));
    const unsigned room = p.kind & CUPOLA_SIGNED ? width - 1 : width;
    const bool fits_above = negative || room >= 64 || bits >> room == 0;
    const bool no_bool = p.size == 1 && bits > 1 && p.type == "bool";  // undefined in C++
    if (__builtin_expect(!fits_below || !fits_above || no_bool, 0))
        fail_argument(kernel, index, CUPOLA_ERROR_VALUE,
                      "the integer " + number() + ", which is out of its range" + range_text(p));
    store(buffer, p, bits);
}

void put_pointer(const Kernel& kernel, std::size_t index, void* buffer, std::uint64_t address) {
    const Parameter& p = parameter(kernel, index);
    if (__builtin_expect(!(p.kind & CUPOLA_POINTER), 0))
        fail_argument(kernel, index, CUPOLA_ERROR_TYPE, "a pointer");
    if (__builtin_expect(!address, 0)) Flight::watch_nulls();
    store(buffer, p, address);
}

void put_bytes(const Kernel& kernel, std::size_t index, void* buffer, const void* bytes,
               std::size_t size) {
    const Parameter& p = parameter(kernel, index);
    // A parameter that is known to be a number or a pointer does not accept raw bytes.
    if (!(p.kind & CUPOLA_STRUCT) && !(p.size <= 2 && p.kind & CUPOLA_FLOAT))
        fail_argument(kernel, index, CUPOLA_ERROR_TYPE, std::to_string(size) + " bytes");
    if (size != p.size)
        fail_argument(kernel, index, CUPOLA_ERROR_VALUE, std::to_string(size) + " bytes");
    std::memcpy(static_cast<char*>(buffer) + p.offset, bytes, size);
}

void require_count(const Kernel& kernel, std::size_t count) {
    kernel.require_known();
    const std::vector<Parameter>& parameters = kernel.parameters();
    const std::size_t expected = given_count(parameters);
    if (count == expected) return;
    std::string list;
    for (std::size_t i = 0; i < expected; ++i) {
        const Parameter& p = parameters[i];
        list +=
            (i ? ", " : " (") + (p.name.empty() ? std::to_string(i) : p.name) + ": " + describe(p);
    }
    fail(CUPOLA_ERROR_TYPE, kernel.title + ": takes " + std::to_string(expected) +
                                (expected == 1 ? " argument" : " arguments") + list +
                                (list.empty() ? "" : ")") + ", got " + std::to_string(count));
}

}  // namespace cupola
