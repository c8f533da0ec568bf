// csrc/runtime/copy/strided_copy.hpp - copies and fills of strided elements.
#pragma once

#include "cupola/copy.h"
#include "runtime/context/stream.hpp"

namespace cupola {

// Returns false and queues nothing for host memory where the copy is neither linear nor made of
// long enough rows.
bool copy_strided(const cupola_strided& to, const cupola_strided& from, const std::int64_t* shape,
                  int ndim, std::size_t itemsize, int direction, Stream& stream);
void fill_strided(const cupola_strided& to, const std::int64_t* shape, int ndim,
                  const unsigned char* element, std::size_t itemsize, Stream& stream);

}  // namespace cupola
