// csrc/cpu/device/module/library.cpp - loads libraries, and their modules and kernels in each
// context.
#include "cpu/device/module/library.hpp"

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"

namespace cupola::cpu {

std::shared_ptr<Library> Library::make(Driver& driver, std::string_view bytes,
                                       JitOptions& options) {
    const auto& stack = Context::stack();
    Device* device = driver.devices[0].get();
    if (!stack.empty() && stack.back().context) device = &stack.back().context->device();
    auto library = std::make_shared<Library>(*device, bytes);
    library->contracts_ = options.contracts();
    library->first_ = build_image(library->bytes_, *device, options);
    for (std::string& name : kernel_names(*library->first_)) {
        library->kernels_.push_back(std::make_shared<LibraryKernel>(library, std::move(name)));
        driver.kernels.add(library->kernels_.back());
    }
    driver.libraries.add(library);
    return library;
}

void Library::close() {
    Driver& driver = device_.driver();
    for (const auto& kernel : kernels_) driver.kernels.remove(kernel.get());
    std::lock_guard lock(mutex_);
    for (auto& [context, module] : modules_) module->close();
    modules_.clear();
}

std::shared_ptr<Module> Library::module(const std::shared_ptr<Context>& context) {
    std::lock_guard lock(mutex_);
    auto& module = modules_[context.get()];
    // Closing a context destroyed its modules, even if it is open again.
    if (module && !context->driver().modules.find(module.get())) module.reset();
    if (!module) {
        std::shared_ptr<Image> image = first_;
        if (taken_ || &context->device() != &device_) {
            JitOptions none(0, nullptr, nullptr);
            image = build_image(bytes_, context->device(), none, contracts_);
        } else {
            taken_ = true;
        }
        const auto set_attributes = [owner = weak_from_this()](Function& made) {
            if (const auto library = owner.lock())
                made.attributes =
                    library->kernel(made.kernel().name())->attributes(made.kernel(), made.device());
        };
        module = Module::make(context, std::move(image), set_attributes);
    }
    return module;
}

std::shared_ptr<LibraryKernel> Library::kernel(std::string_view name) const {
    for (const auto& kernel : kernels_)
        if (kernel->name() == name) return kernel;
    fail(CUDA_ERROR_NOT_FOUND);
}

std::shared_ptr<Library> LibraryKernel::library() const {
    auto library = library_.lock();
    require(library != nullptr, CUDA_ERROR_INVALID_HANDLE);
    return library;
}

const Kernel& LibraryKernel::kernel(const Library& library) const {
    return read_kernel(library.description(), name_);
}

std::shared_ptr<Function> LibraryKernel::function(const std::shared_ptr<Context>& context) {
    return library()->module(context)->function(name_);
}

FunctionAttributes& LibraryKernel::attributes(const Kernel& kernel, const Device& device) {
    std::lock_guard lock(mutex_);
    auto& attributes = attributes_[device.ordinal()];
    if (!attributes) attributes = std::make_unique<FunctionAttributes>(kernel);
    return *attributes;
}

int LibraryKernel::get(CUfunction_attribute attribute, Device& device) {
    const auto owner = library();
    const Kernel& which = kernel(*owner);
    return attributes(which, device).get(attribute, which, device);
}

void LibraryKernel::set(CUfunction_attribute attribute, int value, Device& device) {
    const auto owner = library();
    const Kernel& which = kernel(*owner);
    attributes(which, device).set(attribute, value, which, device);
    owner->each_module([&](Module& module) {
        if (&module.context()->device() == &device) module.function(name_)->set(attribute, value);
    });
}

}  // namespace cupola::cpu
