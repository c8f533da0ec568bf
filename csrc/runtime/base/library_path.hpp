// csrc/runtime/base/library_path.hpp - the file of this library.
#pragma once

#include <string>

namespace cupola {

// The path of libcupola.so; the CPU device is in cpu/ beside it.
std::string library_path();

}  // namespace cupola
