// csrc/cpu/file.hpp - an image read from a file.
#pragma once

#include <string>

#include "cpu/failure.hpp"

namespace cupola::cpu {

// FILE_NOT_FOUND where it cannot be read.
std::string read_file(const char* path);

}  // namespace cupola::cpu
