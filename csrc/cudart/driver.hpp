// csrc/cudart/driver.hpp - the driver's functions, found at run time.
#pragma once

#include <cudaTypedefs.h>

#include "cudart/types.hpp"

namespace cupola::cudart {

// A function that this driver lacks returns CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER.
struct Driver {
#define CUPOLA_MEMBER(name, version) PFN_cu##name##_v##version name = nullptr;
#include "cudart/driver_symbols.def"
#undef CUPOLA_MEMBER
};

// Their stream 0 is the legacy stream in the first table, the thread's own in the second.
extern Driver driver_tables[2];

// Loads libcuda.so.1 and fills the tables, without cuInit. Call it once.
// cudaErrorInsufficientDriver: there is no driver, or one that lacks cuGetProcAddress.
cudaError_t load_driver();

}  // namespace cupola::cudart
