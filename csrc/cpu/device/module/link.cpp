// csrc/cpu/device/module/link.cpp - links PTX; this device cannot execute machine code.
#include "cpu/device/module/link.hpp"

#include <utility>

#include "cpu/device/base/load_error.hpp"
#include "cpu/device/base/registry.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/device.hpp"
#include "cpu/device/module/module.hpp"
#include "image/choice.hpp"
#include "ptx/contract_fma.hpp"
#include "ptx/error.hpp"
#include "ptx/program.hpp"
#include "ptx/register_limit.hpp"

namespace cupola::cpu {
namespace {

// CUDA's library of device functions. The CPU device has the supported functions of this library;
// the other functions are undefined when the link is completed.
bool is_device_library(CUjitInputType type, std::string_view bytes) {
    constexpr std::string_view magic = "!<arch>\n", member = "cuda_device_runtime.o/";
    return type == CU_JIT_INPUT_LIBRARY && bytes.substr(0, magic.size()) == magic &&
           bytes.find(member) != std::string_view::npos;
}

}  // namespace

// As in NVIDIA's driver, the buffers hold empty logs at first.
Link::Link(unsigned count, CUjit_option* options, void** values)
    : options_(count, options, values) {
    options_.finish();
}

void Link::fail_load(CUresult code, std::string why) {
    if (!options_.errors.empty()) options_.errors += '\n';
    options_.errors += why;
    options_.finish();
    cpu::fail_load(code, std::move(why));
}

void Link::add(CUjitInputType type, std::string_view bytes, const char* name,
               const JitOptions& options) {
    std::lock_guard lock(mutex_);
    const std::string title = std::string("cupola: ") + (name && *name ? name : "an input") + ": ";
    require(type >= CU_JIT_INPUT_CUBIN && type < CU_JIT_NUM_INPUT_TYPES);
    if (is_device_library(type, bytes)) return;
    // cupola's NVRTC and nvcc return PTX in place of a cubin.
    if (type == CU_JIT_INPUT_CUBIN && bytes.find(".version") != std::string_view::npos &&
        bytes.substr(0, 4) != "\177ELF")
        type = CU_JIT_INPUT_PTX;
    if (type != CU_JIT_INPUT_PTX && type != CU_JIT_INPUT_FATBINARY)
        fail_load(CUDA_ERROR_NOT_SUPPORTED,
                  title + "the CPU device links PTX and fatbins with PTX, not machine code");
    try {
        std::string unpacked;
        std::string_view text = bytes.substr(0, bytes.find('\0'));
        if (type == CU_JIT_INPUT_FATBINARY) {
            const int capability = Context::usable()->device().capability().number;
            const auto entries = image::read(bytes.data(), bytes.size());
            const auto found = image::candidates(entries, {capability, 0, false});
            if (found.empty())
                fail_load(CUDA_ERROR_NO_BINARY_FOR_GPU,
                          title +
                              "it has no PTX that this device can run; compile it for compute_" +
                              std::to_string(capability) + " or lower");
            const image::Entry& best = *found.front().entry;
            text = best.payload;
            if (best.compressed) {
                unpacked = image::unpack(best);
                text = std::string_view(unpacked).substr(0, unpacked.find('\0'));
            }
        }
        if (text.find(".version") == std::string_view::npos)
            fail_load(CUDA_ERROR_INVALID_IMAGE, title + "it is not PTX text");
        try {
            ptx::parse(text);
        } catch (const ptx::Error& error) {
            // Another input may define the missing symbols.
            if (error.kind != ptx::Error::Kind::unresolved_extern) throw;
        }
        const unsigned own = options.register_limit();
        const unsigned limit = own ? own : options_.register_limit();
        std::string added = limit ? ptx::limit_registers(text, limit) : std::string(text);
        if (!options.contracts() || !options_.contracts()) added = ptx::forbid_contraction(added);
        linker_.add(added);
    } catch (const image::Error& error) {
        fail_load(CUDA_ERROR_INVALID_IMAGE, title + error.what());
    } catch (const ptx::Error& error) {
        fail_load(code_of(error.kind), title + "PTX " + error.what());
    }
}

std::string_view Link::complete() {
    std::lock_guard lock(mutex_);
    // Without inputs the image is empty.
    if (linker_.empty()) linker_.add(".version 6.0\n.target sm_50\n.address_size 64\n");
    try {
        image_ = linker_.linked();
    } catch (const ptx::Error& error) {
        fail_load(code_of(error.kind), std::string("cupola: linked PTX ") + error.what());
    }
    // The linked text is parsed, and the result is not used: so an undefined symbol is an error of
    // the link, and not only of the load.
    build_image(image_, Context::usable()->device(), options_);
    return image_;
}

}  // namespace cupola::cpu
