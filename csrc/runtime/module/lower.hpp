// csrc/runtime/module/lower.hpp - writes the PTX of an image for older drivers.
#pragma once

#include <string>
#include <string_view>

namespace cupola {

// The image, a fatbin or PTX, or an object or library with images inside, with each PTX text in the
// lowest version that it needs. Its size does not change. Throws CUPOLA_ERROR_IMAGE where the bytes
// are none of these, or where PTX is compressed.
std::string lower(std::string_view bytes);

}  // namespace cupola
