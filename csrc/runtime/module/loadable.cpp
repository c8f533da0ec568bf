// csrc/runtime/module/loadable.cpp - an entry of an image, as a driver loads it.
#include "runtime/module/loadable.hpp"

#include <cstring>
#include <utility>

#include "image/image.hpp"
#include "platform/demangle.hpp"
#include "ptx/error.hpp"
#include "runtime/base/error.hpp"
#include "runtime/driver/output.hpp"

namespace cupola {

std::string requirement_text(const ptx::Requirement& requirement, std::string_view kernel) {
    const std::string version = std::to_string(requirement.version);
    std::string text = "needs a driver of CUDA " + image::cuda_of_ptx(requirement.version) +
                       " or newer (PTX " + version.substr(0, version.size() - 1) + "." +
                       version.back() + "): ";
    if (!requirement.function.empty() && requirement.function != kernel)
        text += "kernel or function " + demangle(requirement.function) + ", ";
    text += "line " + std::to_string(requirement.line) + ": " + requirement.what;
    return requirement.known ? text : text + ", which cupola does not know";
}

Loadable::Loadable(const image::Entry& entry, const image::Taker& taker) {
    std::string_view payload = entry.payload;
    try {
        if (entry.compressed) payload = unpacked_ = image::unpack(entry);
    } catch (const image::Error& error) {
        fail(CUPOLA_ERROR_IMAGE,
             "the image's code for " + image::target_name(entry) + ": " + error.what());
    }
    const bool text = entry.kind == image::Kind::ptx;
    if (text) {
        ptx_ = payload.substr(0, payload.find('\0'));
        write_for(taker);
    } else {
        machine_code_ = payload;
    }
    // The CPU device reads PTX as text alone. NVIDIA's driver does not check where the options are,
    // so it gets the header only with options.
    if (text && (!taker.machine_code || image::assembler_options(entry).empty()))
        hold(ptx_);
    else if (text)
        hold(image::alone(entry, ptx_));
    else if (reinterpret_cast<std::uintptr_t>(payload.data()) % 8 == 0)
        data_ = payload.data();
    else
        hold(payload);
}

bool Loadable::uses_output() const {
    return Output::is_used_in(ptx_) || Output::is_used_in(machine_code_);
}

void Loadable::write_for(const image::Taker& taker) {
    const auto heading = image::heading(ptx_);
    if (!taker.ptx || !heading || heading->version <= taker.ptx) return;
    try {
        ptx::ForDriver made = ptx::for_driver(ptx_, taker.ptx, taker.capability);
        if (made.text.empty()) {
            too_new = requirement_text(made.refused);
            return;
        }
        omitted = std::move(made.omitted);
        ptx_ = written_ = std::move(made.text);
    } catch (const ptx::Error&) {
        // The driver says what is wrong with the text.
    }
}

// The driver reads eight-byte fields in place, so they must be aligned. A text ends with a NUL.
void Loadable::hold(std::string_view bytes) {
    aligned_.assign(bytes.size() / 8 + 1, 0);
    std::memcpy(aligned_.data(), bytes.data(), bytes.size());
    data_ = aligned_.data();
}

}  // namespace cupola
