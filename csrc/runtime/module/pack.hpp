// csrc/runtime/module/pack.hpp - packs fatbins, as csrc/image/packed.hpp describes them.
#pragma once

#include <string>
#include <string_view>

namespace cupola {

// Throws CUPOLA_ERROR_IMAGE where the bytes are no fatbin, or have compressed entries.
std::string pack(std::string_view fatbin, int level);

}  // namespace cupola
