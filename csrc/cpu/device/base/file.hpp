// csrc/cpu/device/base/file.hpp - reads a file.
#pragma once

#include <string>

#include "cpu/device/base/failure.hpp"

namespace cupola::cpu {

// Throws FILE_NOT_FOUND if the file cannot be read.
std::string read_file(const char* path);

}  // namespace cupola::cpu
