// csrc/runtime/copy/strided_copy.hpp - copies and fills of strided elements.
#pragma once

#include "cupola/copy.h"
#include "runtime/context/stream.hpp"

namespace cupola {

// Returns false, with nothing queued, if the copy needs a kernel but one side is host memory. A
// kernel does every copy that is neither linear nor pitched with rows of at least 512 bytes.
bool copy_strided(const cupola_strided& to, const cupola_strided& from, const std::int64_t* shape,
                  int ndim, std::size_t itemsize, int direction, Stream& stream);
void fill_strided(const cupola_strided& to, const std::int64_t* shape, int ndim,
                  const unsigned char* element, std::size_t itemsize, Stream& stream);

}  // namespace cupola
