// csrc/cpu/device/base/load_error.cpp - logs errors with a text and stores them for the thread.
#include "cpu/device/base/load_error.hpp"

#include <utility>

#include "cpu/device/base/failure.hpp"
#include "cpu/device/base/log.hpp"

namespace cupola::cpu {
namespace {

std::string& load_error() {
    thread_local std::string text;
    return text;
}

}  // namespace

CUresult code_of(ptx::Error::Kind kind) {
    switch (kind) {
        case ptx::Error::Kind::unsupported_version:
            return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
        case ptx::Error::Kind::duplicate_definition:
            return CUDA_ERROR_INVALID_SOURCE;
        case ptx::Error::Kind::invalid:
        case ptx::Error::Kind::unsupported_form:
        case ptx::Error::Kind::unresolved_extern:
            break;
    }
    return CUDA_ERROR_INVALID_PTX;
}

void fail_load(const ptx::Error& error) {
    fail_load(code_of(error.kind), std::string("cupola: PTX ") + error.what());
}

void fail_load(CUresult code, std::string text) {
    Log::get().error(text);
    store_load_error(std::move(text));
    fail(code);
}

void store_load_error(std::string text) { load_error() = std::move(text); }

const std::string& last_load_error() { return load_error(); }

}  // namespace cupola::cpu
