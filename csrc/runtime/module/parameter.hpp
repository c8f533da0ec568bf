// csrc/runtime/module/parameter.hpp - what is known of a kernel's parameters, and from where.
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

// All that a value of this many bytes can be.
std::uint32_t kinds_of_size(std::uint32_t size);

// "float", "const float*", "a pointer or a 64-bit integer": what to pass.
std::string describe(const Parameter& parameter);

// Whether two types, as C++ names have them, are known and not the same to a device.
bool differ(std::string_view one, std::string_view other);

// From a demangled C++ name, "saxpy(float, float const*)": kinds and types, no sizes. Nothing
// where the name carries no parameter list (extern "C").
bool from_demangled(std::string_view demangled, std::vector<Parameter>& parameters);

// The same from "void f<void (*)(float, float const*)>()": a function whose template argument is
// the type of a pointer to the kernel.
bool from_function_type(std::string_view demangled, std::vector<Parameter>& parameters);

// From the PTX text of a kernel's .entry: sizes, offsets, and kinds as far as PTX has them. False
// where the text has no such entry or its parameter list can't be read.
bool from_ptx(std::string_view ptx, std::string_view kernel, std::vector<Parameter>& parameters);

// Names of all entries of a PTX text.
std::vector<std::string> entries_of(std::string_view ptx);
// The module's variables in global and constant memory, as PTX text declares them.
std::vector<std::string> variables_of(std::string_view ptx);

// Narrows what the driver said (offset, size) by what a source of names and types says. False and
// unchanged where the two disagree in number or the kinds can't be those of that size.
bool refine(std::vector<Parameter>& parameters, const std::vector<Parameter>& source);

}  // namespace cupola
