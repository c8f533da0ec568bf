// csrc/runtime/array/reduce.hpp - arrays reduced along axes.
#pragma once

#include "cupola/reduce.h"
#include "runtime/context/stream.hpp"

namespace cupola {

// See cupola_reduce. With `at_once` false, and nothing was queued, where the call could wait.
bool reduce(int reduction, int element, const cupola_operand& out, const cupola_operand& x,
            const cupola_operand* y, const std::int64_t* shape, int ndim, std::uint64_t axes,
            Stream& stream, bool at_once);

}  // namespace cupola
