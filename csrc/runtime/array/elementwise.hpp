// csrc/runtime/array/elementwise.hpp - elementwise operations of arrays.
#pragma once

#include "cupola/elementwise.h"
#include "runtime/context/stream.hpp"

namespace cupola {

// Throws CUPOLA_ERROR_TYPE where no kernel does the operation on operands of these types.
void require_operands(int operation, int element, const cupola_operand& out,
                      const cupola_operand& x, const cupola_operand& y);
// Expects operands that `require_operands` has accepted.
void elementwise(int operation, int element, const cupola_operand& out, const cupola_operand& x,
                 const cupola_operand& y, const cupola_scalar& scalar, const std::int64_t* shape,
                 int ndim, Stream& stream);
// Computes contiguous elements of one type; an address of 0 stands for the scalar. With `no_wait`,
// returns false and queues nothing where the call could wait.
bool elementwise_flat(int operation, int element, std::uint64_t out, std::uint64_t x,
                      std::uint64_t y, const cupola_scalar* scalar, std::size_t count,
                      Stream& stream, bool no_wait);

}  // namespace cupola
