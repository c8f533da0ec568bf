// csrc/runtime/abi/library.cpp - the functions of cupola/library.h.
#include "cupola/library.h"

#include "platform/cache_settings.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/library_path.hpp"

using namespace cupola;

int cupola_abi_version(void) { return CUPOLA_ABI_VERSION; }
const char* cupola_build_id(void) { return CUPOLA_BUILD_ID; }
const char* cupola_version(void) { return CUPOLA_VERSION; }
const char* cupola_library_path(void) {
    static const std::string* const path = new std::string(library_path());
    return path->c_str();
}

const char* cupola_cache_folder(void) {
    static thread_local std::string folder;
    folder = environment::cache_folder();
    return folder.c_str();
}
int cupola_cache_size(std::uint64_t* out) {
    return guard([&] {
        std::string error;
        if (!environment::read_cache_size(*check_not_null(out, "out"), error))
            fail(CUPOLA_ERROR_VALUE, error);
    });
}

const char* cupola_last_error(void) { return last_error().text.c_str(); }

void cupola_last_error_info(cupola_error_info* out) {
    const Error& error = last_error();
    if (out)
        *out = {error.status, error.code, error.name.c_str(), error.text.c_str(),
                error.log.c_str()};
}
