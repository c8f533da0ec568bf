// csrc/cpu/exec/tile_reduction.hpp - reductions of a tensor's tile, as the semantics call them.
#pragma once

#include <cstddef>

#include "cpu/exec/code.hpp"
#include "cpu/tensor_map.hpp"

namespace cupola::cpu::exec {

// Reduces elements of global memory with others. False: the type has no such operation.
using ReduceElements = bool (*)(TensorMap::Element type, std::byte* to, const std::byte* from,
                                std::size_t bytes);
// tensor.cpp. op as for a store of a tile.
const Code* reduce_tile(const Code* ip, Warp& w, std::byte* r, ReduceElements reduce);

}  // namespace cupola::cpu::exec
