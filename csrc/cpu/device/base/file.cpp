// csrc/cpu/device/base/file.cpp - reads a whole file.
#include "cpu/device/base/file.hpp"

#include <cstdio>
#include <memory>

namespace cupola::cpu {

std::string read_file(const char* path) {
    const auto close = [](std::FILE* file) { std::fclose(file); };
    const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path, "rbe"), close);
    require(file != nullptr, CUDA_ERROR_FILE_NOT_FOUND);
    std::string bytes;
    char block[1 << 16];
    while (const std::size_t got = std::fread(block, 1, sizeof block, file.get()))
        bytes.append(block, got);
    require(!std::ferror(file.get()), CUDA_ERROR_FILE_NOT_FOUND);
    return bytes;
}

}  // namespace cupola::cpu
