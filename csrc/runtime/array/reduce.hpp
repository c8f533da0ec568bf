// csrc/runtime/array/reduce.hpp - reductions of arrays along axes.
#pragma once

#include "cupola/reduce.h"
#include "runtime/context/stream.hpp"

namespace cupola {

// See cupola_reduce. With `no_wait`, returns false and queues nothing where the call could wait.
bool reduce(int reduction, int element, const cupola_operand& out, const cupola_operand& x,
            const cupola_operand* y, const std::int64_t* shape, int ndim, std::uint64_t axes,
            Stream& stream, bool no_wait);

}  // namespace cupola
