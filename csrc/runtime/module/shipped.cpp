// csrc/runtime/module/shipped.cpp - loads the library's shipped kernels.
#include "runtime/module/shipped.hpp"

#include <map>

// The fatbin that the build made.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "cupola_shipped_begin:\n"
    ".incbin \"" CUPOLA_KERNELS_FATBIN
    "\"\n"
    "cupola_shipped_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
__attribute__((visibility("hidden"))) extern const char cupola_shipped_begin[];
__attribute__((visibility("hidden"))) extern const char cupola_shipped_end[];
}

namespace cupola {
namespace {

// The module and its kernels, one object for each device.
class Shipped : public Object {
  public:
    explicit Shipped(Context& context)
        : module(make<Module>(context, shipped_image().data(), shipped_image().size())) {}

    Kernel& kernel(const std::string& name) {
        std::lock_guard<std::mutex> lock(mutex_);
        Ref<Kernel>& kernel = kernels_[name];
        if (!kernel) kernel = make<Kernel>(module, name);
        return *kernel;
    }

    Ref<Module> module;

  private:
    std::mutex mutex_;
    std::map<std::string, Ref<Kernel>> kernels_;
};

Shipped& shipped(Context& context) {
    std::lock_guard<std::mutex> lock(context.mutex);
    if (!context.shipped) context.shipped = Ref<Object>::adopt(new Shipped(context));
    return static_cast<Shipped&>(*context.shipped);
}

}  // namespace

std::string_view shipped_image() {
    return {cupola_shipped_begin, std::size_t(cupola_shipped_end - cupola_shipped_begin)};
}

Ref<Module> shipped_module(Context& context) { return shipped(context).module; }

Kernel& shipped_kernel(Context& context, const std::string& name) {
    return shipped(context).kernel(name);
}

}  // namespace cupola
