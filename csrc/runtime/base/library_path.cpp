// csrc/runtime/base/library_path.cpp - asks the loader for the file of this library.
#include "runtime/base/library_path.hpp"

#include <dlfcn.h>

#include <climits>
#include <cstdlib>

namespace cupola {

std::string library_path() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&library_path), &info) && info.dli_fname) {
        char real[PATH_MAX];
        return realpath(info.dli_fname, real) ? real : info.dli_fname;
    }
    return {};
}

}  // namespace cupola
