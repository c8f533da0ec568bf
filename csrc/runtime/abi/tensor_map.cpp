// csrc/runtime/abi/tensor_map.cpp - the function of cupola/tensor_map.h.
#include "cupola/tensor_map.h"

#include "runtime/context/device.hpp"
#include "runtime/texture/tensor_map.hpp"

using namespace cupola;

int cupola_tensor_map_encode(int device, const cupola_tensor_map_request* request, void* out) {
    return guard([&] {
        encode_tensor_map(context(device), *check_not_null(request, "request"),
                          check_not_null(out, "out"));
    });
}
