// csrc/platform/truncated_library.hpp - finds a shared library that ends too early.
//
// dlopen maps such a file, and an access beyond its end kills the process with SIGBUS.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace cupola {

// The reason why the library must not be loaded; empty where its file is whole, cannot be read or
// is no 64-bit ELF file: dlopen describes those.
inline std::string truncation_of(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return "";
    struct stat about = {};
    Elf64_Ehdr header = {};
    std::uint64_t described = 0;
    if (fstat(file, &about) == 0 && pread(file, &header, sizeof header, 0) == sizeof header &&
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        header.e_ident[EI_CLASS] == ELFCLASS64) {
        described = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
        for (unsigned i = 0; i < header.e_phnum; ++i) {
            Elf64_Phdr program = {};
            const auto at = static_cast<off_t>(header.e_phoff + i * sizeof program);
            if (pread(file, &program, sizeof program, at) != sizeof program) break;
            if (program.p_type == PT_LOAD)
                described = std::max(described, program.p_offset + program.p_filesz);
        }
    }
    close(file);
    const auto size = static_cast<std::uint64_t>(about.st_size);
    if (described <= size) return "";
    return path + " is truncated: it has " + std::to_string(size) + " bytes, and its header " +
           "describes " + std::to_string(described) + "; install its package again";
}

}  // namespace cupola
