// csrc/cpu/module.hpp - a module: an image's PTX built into kernels and variables in one context.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cpu/cuda.hpp"
#include "cpu/execute.hpp"
#include "cpu/jit.hpp"

namespace cupola::cpu {

class Context;
class Device;
class Function;
class Library;
class References;

// The bytes a caller's address means: a fatbin (also behind the wrapper that nvcc makes), a cubin,
// or PTX text up to its NUL.
std::string_view image_at(const void* address);

// The newest PTX in the bytes which the device takes, built. Throws Failure with the code that
// NVIDIA's driver gives, and says why in the options' log.
// Many kernels are read one by one when they are asked for.
std::shared_ptr<Image> build_image(std::string_view bytes, Device& device, JitOptions& options);
std::vector<std::string> kernel_names(const Image& image);
// Reads the kernel now, where it was not. Fails with NOT_FOUND, or with what is wrong with it.
const Kernel& read_kernel(const Image& image, const std::string& name);
// Whether CUDA_MODULE_LOADING asks for everything at once.
bool loads_eagerly();

class Module : public std::enable_shared_from_this<Module> {
  public:
    Module(std::shared_ptr<Context> context, std::shared_ptr<Image> image);

    // A module that the driver's registry knows, with its functions.
    static std::shared_ptr<Module> make(std::shared_ptr<Context> context,
                                        std::shared_ptr<Image> image,
                                        const std::shared_ptr<Library>& library = nullptr);
    // The handles die; what a queued launch needs lives on until it has run.
    void close();
    static void close_all(const Context& context);

    CUmodule handle() { return reinterpret_cast<CUmodule>(this); }
    const Context* context() const { return context_.get(); }
    const Image& image() const { return *image_; }
    std::size_t function_count() const { return names_.size(); }
    std::vector<std::shared_ptr<Function>> functions();         // reads all
    std::shared_ptr<Function> function(std::string_view name);  // NOT_FOUND, or what is wrong
    // Null where the image has neither textures nor surfaces.
    const std::shared_ptr<const References>& references() const { return references_; }
    bool of_library() const { return of_library_; }  // then cuModuleUnload is refused

  private:
    const std::shared_ptr<Context> context_;
    std::shared_ptr<Function> function(std::size_t index);

    const std::shared_ptr<Image> image_;
    std::shared_ptr<const References> references_;
    bool of_library_ = false;
    std::weak_ptr<Library> library_;  // which knows its kernels' attributes
    std::vector<std::string> names_;
    std::unordered_map<std::string_view, std::size_t> indices_;
    std::mutex mutex_;
    bool closed_ = false;
    std::vector<std::shared_ptr<Function>> functions_;  // by the names; null where nobody asked
};

// What cuFuncSetBlockShape, cuParamSet* and cuFuncSetSharedSize leave for cuLaunch.
struct OldLaunch {
    Dim3 block;
    std::uint32_t shared = 0;
    std::vector<std::byte> parameters;
};

// The attributes of a function that can be set, and those that follow from its kernel.
class FunctionAttributes {
  public:
    explicit FunctionAttributes(const Kernel& kernel);
    FunctionAttributes& operator=(const FunctionAttributes& other);

    int get(CUfunction_attribute attribute, const Kernel& kernel, const Device& device) const;
    void set(CUfunction_attribute attribute, int value, const Kernel& kernel, const Device& device);
    std::uint32_t dynamic_limit() const {
        return static_cast<std::uint32_t>(dynamic_limit_.load());
    }
    // The kernel's own, else what was set; zeros where there is neither.
    Dim3 required_cluster(const Kernel& kernel) const;
    bool non_portable_cluster() const { return non_portable_ != 0; }

  private:
    std::atomic<int> dynamic_limit_;
    std::atomic<int> carveout_{-1}, non_portable_{0}, policy_{0};
    std::atomic<int> cluster_[3] = {{0}, {0}, {0}};
};

// A kernel in a module: what a CUfunction is.
class Function {
  public:
    Function(Module& module, std::shared_ptr<Image> image, const Kernel& kernel);

    CUfunction handle() { return reinterpret_cast<CUfunction>(this); }
    const Kernel& kernel() const { return kernel_; }
    const Context* context() const { return context_; }
    CUmodule module() const { return module_; }
    const Device& device() const { return device_; }
    const std::shared_ptr<const References>& references() const { return references_; }
    std::size_t parameter_bytes() const { return parameter_bytes_; }
    unsigned cluster_limit() const;  // blocks that a cluster of it may have

    int get(CUfunction_attribute attribute) const {
        return attributes.get(attribute, kernel_, device_);
    }
    void set(CUfunction_attribute attribute, int value) {
        attributes.set(attribute, value, kernel_, device_);
    }

    FunctionAttributes attributes;
    OldLaunch old;

    // From a CUfunction or a CUkernel, which stands for its function in the current context.
    static std::shared_ptr<Function> from(CUfunction handle);

  private:
    const std::shared_ptr<Image> image_;
    const std::shared_ptr<const References> references_;
    const CUmodule module_;
    const Context* const context_;
    const Device& device_;
    const Kernel& kernel_;
    std::size_t parameter_bytes_ = 0;
};

CUresult parameter_info(const Kernel& kernel, std::size_t index, std::size_t* offset,
                        std::size_t* size);

}  // namespace cupola::cpu
