// csrc/runtime/base/error.cpp - the text of this thread's last failure.
#include "runtime/base/error.hpp"

#include <exception>
#include <new>

namespace cupola {

Error& last_error() noexcept {
    thread_local Error error{CUPOLA_SUCCESS, "", 0, "", ""};
    return error;
}

void fail_null(const char* name) { fail(CUPOLA_ERROR_VALUE, std::string(name) + " is NULL"); }

void fail(cupola_status status, std::string text) { throw Error{status, std::move(text)}; }

Error current_error() {
    try {
        throw;
    } catch (const Error& error) {
        return error;
    } catch (const std::bad_alloc&) {
        return {CUPOLA_ERROR_OUT_OF_MEMORY, "out of host memory", 0, "", ""};
    } catch (const std::exception& error) {
        return {CUPOLA_ERROR_INTERNAL, error.what(), 0, "", ""};
    }
}

int keep_current_exception() noexcept {
    try {
        last_error() = current_error();
    } catch (...) {  // memory is missing even for the text
        return CUPOLA_ERROR_OUT_OF_MEMORY;
    }
    return last_error().status;
}

}  // namespace cupola
