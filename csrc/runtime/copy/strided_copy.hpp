// csrc/runtime/copy/strided_copy.hpp - copies and fills of elements that do not follow each other.
#pragma once

#include "cupola/copy.h"
#include "runtime/context/stream.hpp"

namespace cupola {

// False, and nothing was queued, where host memory takes part and the copy is neither linear nor
// rows of a useful length.
bool copy_strided(const cupola_strided& to, const cupola_strided& from, const std::int64_t* shape,
                  int ndim, std::size_t itemsize, int direction, Stream& stream);
void fill_strided(const cupola_strided& to, const std::int64_t* shape, int ndim,
                  const unsigned char* element, std::size_t itemsize, Stream& stream);

}  // namespace cupola
