// csrc/runtime/argument.cpp - writes one argument into a launch's buffer, checked against its
// parameter. These run for every argument of every launch: the ways without an error are short.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "runtime/flight.hpp"
#include "runtime/half.hpp"
#include "runtime/kernel.hpp"

namespace cupola {
namespace {

std::string where(const Kernel& kernel, std::size_t index) {
    std::string text = kernel.title + ": argument " + std::to_string(index);
    if (index < kernel.parameters.size() && !kernel.parameters[index].name.empty())
        text += " (" + kernel.parameters[index].name + ")";
    return text + ": ";
}

[[noreturn]] void wrong(const Kernel& kernel, std::size_t index, cupola_status status,
                        const std::string& got) {
    fail(status,
         where(kernel, index) + "expected " + describe(kernel.parameters[index]) + ", got " + got);
}

[[noreturn, gnu::cold, gnu::noinline]] void no_parameter(const Kernel& kernel, std::size_t index) {
    kernel.require_known();
    fail(CUPOLA_ERROR_TYPE, kernel.title + ": takes " + std::to_string(kernel.parameters.size()) +
                                " arguments, there is no argument " + std::to_string(index));
}

inline const Parameter& parameter(const Kernel& kernel, std::size_t index) {
    if (__builtin_expect(index >= kernel.parameters.size(), 0)) no_parameter(kernel, index);
    return kernel.parameters[index];
}

std::string float_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "the float %g", value);
    return text;
}

// What an integer parameter holds, as " (-128 to 127)"; without a known sign both kinds fit.
std::string range_text(const Parameter& p) {
    const unsigned width = p.size * 8;
    const bool below = !(p.kind & CUPOLA_UNSIGNED);
    const unsigned room = p.kind & CUPOLA_SIGNED ? width - 1 : width;
    const std::uint64_t most =
        p.type == "bool" ? 1 : std::numeric_limits<std::uint64_t>::max() >> (64 - room);
    return " (" + (below ? "-" + std::to_string(std::uint64_t(1) << (width - 1)) : "0") + " to " +
           std::to_string(most) + ")";
}

// Little-endian: the low bytes come first, as on every platform that has CUDA.
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

void put_float(const Kernel& kernel, std::size_t index, void* buffer, double value) {
    const Parameter& p = parameter(kernel, index);
    if (!(p.kind & CUPOLA_FLOAT)) {
        const bool half = p.size == 2 && !(p.kind & CUPOLA_POINTER) && p.type.empty();
        wrong(kernel, index, CUPOLA_ERROR_TYPE,
              float_text(value) +
                  (half ? "; a float of two bytes has two formats: pass numpy.float16 or bytes"
                        : ""));
    }
    auto too_large = [&] {
        wrong(kernel, index, CUPOLA_ERROR_VALUE, float_text(value) + ", which is out of its range");
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

// `negative` says that the value is below zero and bits its two's complement.
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
        wrong(kernel, index, CUPOLA_ERROR_TYPE, "the integer " + number());
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
        wrong(kernel, index, CUPOLA_ERROR_VALUE,
              "the integer " + number() + ", which is out of its range" + range_text(p));
    store(buffer, p, bits);
}

}  // namespace
}  // namespace cupola

using namespace cupola;

int cupola_argument_int(const cupola_kernel* kernel, void* buffer, size_t index, int64_t value) {
    return guard([&] {
        put_integer(*unwrap(required(kernel, "kernel")), index, buffer,
                    static_cast<std::uint64_t>(value), value < 0);
    });
}

int cupola_argument_uint(const cupola_kernel* kernel, void* buffer, size_t index, uint64_t value) {
    return guard(
        [&] { put_integer(*unwrap(required(kernel, "kernel")), index, buffer, value, false); });
}

int cupola_argument_float(const cupola_kernel* kernel, void* buffer, size_t index, double value) {
    return guard([&] { put_float(*unwrap(required(kernel, "kernel")), index, buffer, value); });
}

int cupola_argument_pointer(const cupola_kernel* kernel, void* buffer, size_t index,
                            uint64_t address) {
    return guard([&] {
        const Kernel& k = *unwrap(required(kernel, "kernel"));
        const Parameter& p = parameter(k, index);
        if (__builtin_expect(!(p.kind & CUPOLA_POINTER), 0))
            wrong(k, index, CUPOLA_ERROR_TYPE, "a pointer");
        if (__builtin_expect(!address, 0)) Flight::watch_nulls();
        store(buffer, p, address);
    });
}

int cupola_argument_bytes(const cupola_kernel* kernel, void* buffer, size_t index,
                          const void* bytes, size_t size) {
    return guard([&] {
        const Kernel& k = *unwrap(required(kernel, "kernel"));
        const Parameter& p = parameter(k, index);
        // What is known to be a number or a pointer is not taken from bytes of who knows what.
        if (!(p.kind & CUPOLA_STRUCT) && !(p.size <= 2 && p.kind & CUPOLA_FLOAT))
            wrong(k, index, CUPOLA_ERROR_TYPE, std::to_string(size) + " bytes");
        if (size != p.size) wrong(k, index, CUPOLA_ERROR_VALUE, std::to_string(size) + " bytes");
        std::memcpy(static_cast<char*>(buffer) + p.offset, bytes, size);
    });
}

int cupola_argument_count(const cupola_kernel* kernel, size_t count) {
    return guard([&] {
        const Kernel& k = *unwrap(required(kernel, "kernel"));
        k.require_known();
        if (count == k.parameters.size()) return;
        std::string list;
        for (std::size_t i = 0; i < k.parameters.size(); ++i) {
            const Parameter& p = k.parameters[i];
            list += (i ? ", " : " (") + (p.name.empty() ? std::to_string(i) : p.name) + ": " +
                    describe(p);
        }
        fail(CUPOLA_ERROR_TYPE, k.title + ": takes " + std::to_string(k.parameters.size()) +
                                    (k.parameters.size() == 1 ? " argument" : " arguments") + list +
                                    (list.empty() ? "" : ")") + ", got " + std::to_string(count));
    });
}

int cupola_argument_refuse(const cupola_kernel* kernel, size_t index, int status, const char* got) {
    return guard([&] {
        const Kernel& k = *unwrap(required(kernel, "kernel"));
        parameter(k, index);
        wrong(k, index, status == CUPOLA_ERROR_VALUE ? CUPOLA_ERROR_VALUE : CUPOLA_ERROR_TYPE,
              required(got, "got"));
    });
}
