// csrc/runtime/module/lower.hpp - writes the PTX of an image for older drivers.
#pragma once

#include <string>
#include <string_view>

namespace cupola {

// Returns the bytes with each PTX text in the lowest version that the text needs. `bytes` are a
// fatbin, PTX, or an object or library with images inside; their number does not change. Throws
// CUPOLA_ERROR_IMAGE where the bytes are something else, or where PTX is compressed.
std::string lower(std::string_view bytes);

}  // namespace cupola
