// csrc/cpu/refusal.cpp - why a call was refused: logged, and kept for the thread.
#include "cpu/refusal.hpp"

#include <utility>

#include "cpu/failure.hpp"
#include "cpu/log.hpp"

namespace cupola::cpu {
namespace {

std::string& refusal() {
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

void refuse(const ptx::Error& error) {
    refuse(code_of(error.kind), std::string("cupola: PTX ") + error.what());
}

void refuse(CUresult code, std::string text) {
    Log::get().error(text);
    refusal() = std::move(text);
    fail(code);
}

const std::string& last_refusal() { return refusal(); }

}  // namespace cupola::cpu
