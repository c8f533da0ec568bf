// csrc/dropin/nvrtc/kept.cpp - writes the PTX of machine code for `cupola record`.
#include "dropin/nvrtc/kept.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace cupola::nvrtc {
namespace {

bool write(const std::string& path, std::string_view content) {
    std::FILE* const file = std::fopen(path.c_str(), "wb");
    if (!file) return false;
    const bool whole = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    return std::fclose(file) == 0 && whole;
}

}  // namespace

void keep(std::string_view cubin, std::string_view ptx) {
    static std::atomic<unsigned> number{0};
    const char* const folder = std::getenv("CUPOLA_RECORD_SPOOL");
    if (!folder || !*folder) return;
    const std::string base =
        std::string(folder) + "/nvrtc-" + std::to_string(getpid()) + "-" + std::to_string(number++);
    if (!write(base + ".ptx", ptx) || !write(base + ".cubin", cubin))
        std::fprintf(stderr, "cupola record: the PTX of a program can't be written to %s\n",
                     folder);
}

}  // namespace cupola::nvrtc
