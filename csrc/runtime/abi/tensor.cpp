// csrc/runtime/abi/tensor.cpp - the functions of cupola/tensor.h.
#include "cupola/tensor.h"

#include "runtime/array/dlpack.hpp"
#include "runtime/base/error.hpp"

using namespace cupola;

int cupola_tensor_read(const void* managed, int versioned, cupola_tensor* out) {
    return guard([&] {
        check_not_null(managed, "the DLPack tensor");
        *check_not_null(out, "out") = dlpack::read_tensor(managed, versioned != 0);
    });
}

int cupola_tensor_make(const cupola_tensor* tensor, int versioned, void* owner,
                       void (*release)(void*), void** managed) {
    return guard([&] {
        check_not_null(tensor, "tensor");
        check_not_null(managed, "managed");
        *managed = dlpack::make_tensor(*tensor, versioned != 0, owner, release);
    });
}

void cupola_tensor_delete(void* managed, int versioned) {
    if (managed) dlpack::delete_tensor(managed, versioned != 0);
}
