// csrc/cpu/device/module/library.hpp - a library: an image without a context, which becomes a
// module in each context that uses it. Each of its kernels has one function in each context.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/device/module/module.hpp"

namespace cupola::cpu {

class Driver;
class Library;

class LibraryKernel {
  public:
    LibraryKernel(const std::shared_ptr<Library>& library, std::string name)
        : library_(library), name_(std::move(name)) {}

    CUkernel handle() { return reinterpret_cast<CUkernel>(this); }
    // Throws INVALID_HANDLE if another thread has just unloaded the library.
    std::shared_ptr<Library> library() const;
    const std::string& name() const { return name_; }
    const Kernel& kernel(const Library& library) const;
    std::shared_ptr<Function> function(const std::shared_ptr<Context>& context);

    // Attributes belong to a device and apply to the functions of all its contexts.
    int get(CUfunction_attribute attribute, Device& device);
    void set(CUfunction_attribute attribute, int value, Device& device);

    // The initial attributes of the kernel's functions on the device.
    FunctionAttributes& attributes(const Kernel& kernel, const Device& device);

  private:
    const std::weak_ptr<Library> library_;
    const std::string name_;
    std::mutex mutex_;
    std::map<int, std::unique_ptr<FunctionAttributes>> attributes_;  // by device's ordinal
};

class Library : public std::enable_shared_from_this<Library> {
  public:
    // Loads and registers a library. As in a module, a large image is parsed kernel by kernel.
    static std::shared_ptr<Library> make(Driver& driver, std::string_view bytes,
                                         JitOptions& options);
    Library(Device& device, std::string_view bytes) : device_(device), bytes_(bytes) {}
    void close();

    CUlibrary handle() { return reinterpret_cast<CUlibrary>(this); }
    std::shared_ptr<Module> module(const std::shared_ptr<Context>& context);
    const std::vector<std::shared_ptr<LibraryKernel>>& kernels() const { return kernels_; }
    std::shared_ptr<LibraryKernel> kernel(std::string_view name) const;  // NOT_FOUND
    // The image of names, parameters and sizes, which are equal in every context.
    const Image& description() const { return *first_; }
    template <class Visit>
    void each_module(Visit&& visit) {
        std::lock_guard lock(mutex_);
        for (auto& [context, module] : modules_) visit(*module);
    }

  private:
    Device& device_;  // the current context's at the load, otherwise the first
    const std::string bytes_;
    // Made when the library is loaded; the first context of `device_` takes it.
    std::shared_ptr<Image> first_;
    bool taken_ = false;
    bool contracts_ = true;  // the options of the load
    std::vector<std::shared_ptr<LibraryKernel>> kernels_;
    std::mutex mutex_;
    std::map<const Context*, std::shared_ptr<Module>> modules_;
};

}  // namespace cupola::cpu
