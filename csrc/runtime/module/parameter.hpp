// csrc/runtime/module/parameter.hpp - descriptions of a kernel's parameters, and their sources.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cupola/kernel.h"

namespace cupola {

struct Parameter {
    std::uint32_t offset = 0, size = 0;
    std::uint32_t kind = 0;  // CUPOLA_POINTER ...
    std::string name, type;
};

// All kinds that a value of this many bytes can have.
std::uint32_t kinds_of_size(std::uint32_t size);

// The expected value, for messages: "float", "const float*", "a pointer or a 64-bit integer".
std::string describe(const Parameter& parameter);

// The number of parameters that a caller gives. The other parameters are hidden, and come last.
std::size_t given_count(const std::vector<Parameter>& parameters);

// Whether two C++ type names are both known and differ for a device.
bool differ(std::string_view one, std::string_view other);

// Kinds and types, without sizes, from a demangled name "saxpy(float, float const*)". False where
// the name has no parameter list (extern "C").
bool from_demangled(std::string_view demangled, std::vector<Parameter>& parameters);

// Like from_demangled, from the name of a template function whose template argument is the type of
// a pointer to the kernel: "void f<void (*)(float, float const*)>()".
bool from_function_type(std::string_view demangled, std::vector<Parameter>& parameters);

// Sizes, offsets, and kinds as far as PTX has them, from a kernel's .entry. False where the text
// has no such entry or its parameter list can't be parsed.
bool from_ptx(std::string_view ptx, std::string_view kernel, std::vector<Parameter>& parameters);

// All kernels of a PTX text, with their parameters where these are known, in the text's order.
struct PtxKernel {
    std::string name;
    bool known = false;
    std::vector<Parameter> parameters;
};
std::vector<PtxKernel> kernels_of(std::string_view ptx);

// Names of all entries of a PTX text.
std::vector<std::string> entries_of(std::string_view ptx);

// Adds the names, kinds and types of `source` to the driver's offsets and sizes. Returns false and
// changes nothing where the counts differ or a kind does not fit its size.
bool merge(std::vector<Parameter>& parameters, const std::vector<Parameter>& source);

}  // namespace cupola
