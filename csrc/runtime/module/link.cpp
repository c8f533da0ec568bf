// csrc/runtime/module/link.cpp - links images with the driver's linker.
#include "runtime/module/link.hpp"

#include <algorithm>
#include <cstring>

#include "image/choice.hpp"
#include "image/image.hpp"
#include "image/packed.hpp"
#include "ptx/error.hpp"
#include "ptx/older_driver.hpp"
#include "runtime/base/error.hpp"
#include "runtime/module/undefined.hpp"

namespace cupola {
namespace {

CUjitInputType kind_of(const void* data, std::size_t size) {
    const auto kind = image::detect_kind(data, size);
    if (kind == image::Kind::ptx) return CU_JIT_INPUT_PTX;
    if (kind == image::Kind::fatbin) return CU_JIT_INPUT_FATBINARY;
    if (kind == image::Kind::cubin) return CU_JIT_INPUT_CUBIN;
    fail(CUPOLA_ERROR_IMAGE, "an input can't be linked: expected a fatbin, a cubin or PTX text");
}

class Linker {
  public:
    explicit Linker(const Context& context) : context_(context) {
        CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
        values_[0] = log_.data();
        values_[1] = reinterpret_cast<void*>(log_.size());
        std::copy(std::begin(options), std::end(options), options_);
        CUPOLA_CALL(context_.driver, cuLinkCreate, 2, options_, values_, &state_);
    }
    Linker(const Linker&) = delete;
    Linker& operator=(const Linker&) = delete;
    ~Linker() {
        if (const Driver* d = context_.driver.alive()) d->cuLinkDestroy(state_);
    }

    void add(const cupola_link_input& input) {
        check_not_null(input.data, "an input");
        const CUjitInputType kind = kind_of(input.data, input.size);
        std::string copy(static_cast<const char*>(input.data), input.size);
        try {
            if (image::is_packed(copy)) {
                copy = image::unpack_all(copy);
                image::read(copy.data(), copy.size());  // throws where it is no fatbin
            }
        } catch (const image::Error& error) {
            fail(CUPOLA_ERROR_IMAGE, std::string("an input can't be linked: ") + error.what());
        }
        if (kind == CU_JIT_INPUT_PTX) write_for_driver(copy);
        // The driver needs PTX that ends with NUL; the caller's text may lack it.
        const std::size_t size = copy.size() + (kind == CU_JIT_INPUT_PTX ? 1 : 0);
        check_linked(context_.driver->cuLinkAddData(state_, kind, copy.data(), size, input.name, 0,
                                                    nullptr, nullptr),
                     "cuLinkAddData");
    }
    std::pair<const void*, std::size_t> complete() {
        void* image = nullptr;
        std::size_t size = 0;
        check_linked(context_.driver->cuLinkComplete(state_, &image, &size), "cuLinkComplete");
        return {image, size};
    }

  private:
    // A newer text stays as it is where the driver can't take all of it: the driver refuses the
    // text, and says why.
    void write_for_driver(std::string& text) const {
        const Driver& driver = context_.driver;
        const unsigned newest = driver.cpu ? 0 : image::newest_ptx(driver.version);
        const auto heading = image::heading(text);
        if (!newest || !heading || heading->version <= newest) return;
        try {
            ptx::ForDriver made = ptx::for_driver(text, newest, context_.capability);
            if (made.whole && !made.text.empty()) text = std::move(made.text);
        } catch (const ptx::Error&) {
        }
    }
    void check_linked(CUresult code, const char* call) {
        if (code == CUDA_SUCCESS) return;
        std::string log(log_.c_str());
        log += undefined_symbols(log);
        try {
            fail_driver(context_.driver, code, call, log);
        } catch (Error& error) {
            error.status = CUPOLA_ERROR_IMAGE;
            error.log = log;
            throw;
        }
    }

    const Context& context_;
    std::string log_ = std::string(16384, '\0');
    CUjit_option options_[2];
    void* values_[2];
    CUlinkState state_ = nullptr;
};

}  // namespace

void link(Context& context, const cupola_link_input* inputs, std::size_t count,
          const std::function<void(const void* image, std::size_t size)>& take) {
    const ContextScope current(context);
    Linker linker(context);
    for (std::size_t i = 0; i < count; ++i) linker.add(inputs[i]);
    const auto [image, size] = linker.complete();
    take(image, size);
}

}  // namespace cupola
