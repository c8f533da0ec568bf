// csrc/cpu/isa/tile_reduction.hpp - reductions of a tensor's tile, as the semantics call
// them.
#pragma once

#include <cstddef>

#include "cpu/base/tensor_map.hpp"
#include "cpu/isa/code.hpp"

namespace cupola::cpu::interpreter {

// Reduces elements of global memory with others. False: the type has no such operation.
using ReduceElements = bool (*)(TensorMap::Element type, std::byte* to, const std::byte* from,
                                std::size_t bytes);
// tensor.cpp. op as for a store of a tile.
const DecodedOp* reduce_tile(const DecodedOp* ip, Warp& w, std::byte* r, ReduceElements reduce);

}  // namespace cupola::cpu::interpreter
