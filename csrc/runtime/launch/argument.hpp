// csrc/runtime/launch/argument.hpp - checks arguments and writes them into a launch's buffer.
#pragma once

#include "runtime/module/kernel.hpp"

namespace cupola {

// The parameter at an index; throws where the index is too large.
const Parameter& parameter_of(const Kernel& kernel, std::size_t index);
// Throws "kernel: argument 1 (x): expected ..., got ...".
[[noreturn, gnu::cold]] void fail_argument(const Kernel& kernel, std::size_t index,
                                           cupola_status status, const std::string& got);
void require_count(const Kernel& kernel, std::size_t count);

// With `negative`, the value is below zero and `bits` is its two's complement.
void put_integer(const Kernel& kernel, std::size_t index, void* buffer, std::uint64_t bits,
                 bool negative);
void put_float(const Kernel& kernel, std::size_t index, void* buffer, double value);
void put_pointer(const Kernel& kernel, std::size_t index, void* buffer, std::uint64_t address);
// A struct, or any other value of exactly the parameter's size.
void put_bytes(const Kernel& kernel, std::size_t index, void* buffer, const void* bytes,
               std::size_t size);

}  // namespace cupola
