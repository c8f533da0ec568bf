// csrc/runtime/texture/tensor_map.hpp - descriptors by which kernels copy boxes of a tensor.
#pragma once

#include "cupola/tensor_map.h"
#include "runtime/context/context.hpp"

namespace cupola {

// Checks the request against the documented limits, so that an error names the value that is wrong,
// and writes the driver's CUtensorMap.
void encode_tensor_map(const Context& context, const cupola_tensor_map_request& request, void* out);

}  // namespace cupola
