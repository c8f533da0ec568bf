// csrc/cpu/device/module/module.hpp - a module: an image's PTX built into kernels and variables in
// one context.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/base/jit.hpp"
#include "cpu/interpreter/execute.hpp"

namespace cupola::cpu {

class Context;
class Device;
class Function;
class References;

// The bytes of the image at an address: a fatbin (also inside nvcc's wrapper), a cubin, or PTX text
// up to its NUL.
std::string_view image_at(const void* address);

// Builds the newest PTX in the bytes that the device supports. Throws Failure with the code of
// NVIDIA's driver and writes the reason to the options' log. A large image is parsed kernel by
// kernel, later. Products are fused with sums unless the options, the environment or `contract`
// forbid it.
std::shared_ptr<Image> build_image(std::string_view bytes, Device& device, JitOptions& options,
                                   bool contract = true);
std::vector<std::string> kernel_names(const Image& image);
// Parses the kernel if it is not parsed yet. Fails with NOT_FOUND, or with the error in its PTX.
const Kernel& read_kernel(const Image& image, const std::string& name);
// Whether CUDA_MODULE_LOADING is EAGER.
bool loads_eagerly();

class Module : public std::enable_shared_from_this<Module> {
  public:
    // A library's: sets the attributes of a new function to those of its kernel.
    using SetAttributes = std::function<void(Function&)>;

    Module(std::shared_ptr<Context> context, std::shared_ptr<Image> image);

    // Creates a registered module with its functions. Only a library passes `set_attributes`.
    static std::shared_ptr<Module> make(std::shared_ptr<Context> context,
                                        std::shared_ptr<Image> image,
                                        SetAttributes set_attributes = nullptr);
    // Invalidates the handles. A queued launch keeps the objects that it needs.
    void close();
    static void close_all(const Context& context);

    CUmodule handle() { return reinterpret_cast<CUmodule>(this); }
    const Context* context() const { return context_.get(); }
    const Image& image() const { return *image_; }
    std::size_t function_count() const { return names_.size(); }
    std::vector<std::shared_ptr<Function>> functions();  // parses all
    // Throws NOT_FOUND, or the error that the kernel's PTX contains.
    std::shared_ptr<Function> function(std::string_view name);
    // The kernel at an address of device code; null if there is none. Also after close(), because
    // queued work may launch it.
    std::shared_ptr<Function> function_at(std::uint64_t address);
    // Null if the image has neither textures nor surfaces.
    const std::shared_ptr<const References>& references() const { return references_; }
    bool of_library() const { return set_attributes_ != nullptr; }  // if so, cuModuleUnload fails

  private:
    const std::shared_ptr<Context> context_;
    std::shared_ptr<Function> function(std::size_t index);
    std::shared_ptr<Function> make_function(std::size_t index);  // needs the lock

    const std::shared_ptr<Image> image_;
    std::shared_ptr<const References> references_;
    SetAttributes set_attributes_;
    std::vector<std::string> names_;
    std::unordered_map<std::string_view, std::size_t> indices_;
    std::mutex mutex_;
    bool closed_ = false;
    std::vector<std::shared_ptr<Function>> functions_;  // by index; null before the first use
};

// The state that cuFuncSetBlockShape, cuParamSet* and cuFuncSetSharedSize set for cuLaunch.
struct OldLaunch {
    Dim3 block;
    std::uint32_t shared = 0;
    std::vector<std::byte> parameters;
};

// Attributes of a function: those that can be set, and those of its kernel.
class FunctionAttributes {
  public:
    explicit FunctionAttributes(const Kernel& kernel);
    FunctionAttributes& operator=(const FunctionAttributes& other);

    int get(CUfunction_attribute attribute, const Kernel& kernel, const Device& device) const;
    void set(CUfunction_attribute attribute, int value, const Kernel& kernel, const Device& device);
    std::uint32_t dynamic_limit() const {
        return static_cast<std::uint32_t>(dynamic_limit_.load());
    }
    // The kernel's shape, otherwise the one that was set, otherwise zeros.
    Dim3 required_cluster(const Kernel& kernel) const;
    bool non_portable_cluster() const { return non_portable_ != 0; }

  private:
    std::atomic<int> dynamic_limit_;
    std::atomic<int> carveout_{-1}, non_portable_{0}, policy_{0};
    std::atomic<int> cluster_[3] = {{0}, {0}, {0}};
};

// A kernel in a module. A CUfunction points to it.
class Function {
  public:
    Function(Module& module, std::shared_ptr<Image> image, const Kernel& kernel);

    CUfunction handle() { return reinterpret_cast<CUfunction>(this); }
    const Kernel& kernel() const { return kernel_; }
    const Context* context() const { return context_; }
    CUmodule module() const { return module_; }
    // The module, unless it is unloaded and no work needs it.
    std::shared_ptr<Module> owner() const { return owner_.lock(); }
    const Device& device() const { return device_; }
    const std::shared_ptr<const References>& references() const { return references_; }
    std::size_t parameter_bytes() const { return parameter_bytes_; }
    unsigned cluster_limit() const;  // the largest cluster in blocks

    int get(CUfunction_attribute attribute) const {
        return attributes.get(attribute, kernel_, device_);
    }
    void set(CUfunction_attribute attribute, int value) {
        attributes.set(attribute, value, kernel_, device_);
    }

    FunctionAttributes attributes;
    OldLaunch old;

  private:
    const std::shared_ptr<Image> image_;
    const std::shared_ptr<const References> references_;
    const CUmodule module_;
    const std::weak_ptr<Module> owner_;
    const Context* const context_;
    const Device& device_;
    const Kernel& kernel_;
    std::size_t parameter_bytes_ = 0;
};

CUresult parameter_info(const Kernel& kernel, std::size_t index, std::size_t* offset,
                        std::size_t* size);

}  // namespace cupola::cpu
