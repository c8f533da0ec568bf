// csrc/dropin/cudart/properties.hpp - cudaDeviceProp in each of its forms.
#pragma once

#include "dropin/cudart/types.hpp"

namespace cupola::cudart {

// The CUDA version of the program's structure, which may be another than that of the header here.
// The structure of 11 is a prefix of that of 12.
enum class PropertyForm { of_11, of_12, of_13 };

// cudaGetDeviceProperties and cudaChooseDevice.
cudaError_t get_properties(PropertyForm form, void* properties, int ordinal);
cudaError_t choose_by_properties(PropertyForm form, int* ordinal, const void* wanted);

}  // namespace cupola::cudart
