// csrc/dropin/cudart/registry.hpp - the images, kernels and variables that nvcc's host code
// registers before main, by the addresses of their host counterparts.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dropin/cudart/runtime.hpp"

namespace cupola::cudart {

class Image;

struct Function {
    Function(Image* image, const void* host, const char* name)
        : image(image), host(host), name(name) {}
    Image* image;
    const void* host;
    std::string name;
    std::atomic<CUkernel> kernel{nullptr};  // null until the kernel is first used
};

struct Variable {
    Image* image;
    std::string name;
    const void* host;  // a managed variable's host pointer, set when the image is loaded
    bool managed;
};

struct JitLog;

// The code of one registration. The code is loaded as a library when one of its kernels or
// variables is first used, so that programs that use no device need no device.
class Image {
  public:
    explicit Image(const void* wrapper);
    // Loads the library at the first call. A context must be current. Also sets the host pointers
    // of managed variables.
    cudaError_t load(CUlibrary& library);
    void unload() noexcept;

  private:
    friend class Registry;
    cudaError_t read(const void* wrapper);
    cudaError_t link(CUlibrary& library, JitLog& log);

    const void* code_ = nullptr;  // a fatbin
    // One image, or several images that end with null: -rdc=true.
    const void* const* linked_ = nullptr;
    cudaError_t error_ = cudaSuccess;  // known without a device
    std::mutex mutex_;                 // guards `library_`
    std::atomic<CUlibrary> library_{nullptr};
    std::vector<std::unique_ptr<Function>> functions_;
    std::vector<std::unique_ptr<Variable>> variables_;
};

// The map of kernels is read at each launch, so readers take no lock: the table is replaced when it
// grows, and old tables are kept.
class FunctionTable {
  public:
    Function* find(const void* host) const noexcept;
    // A null value removes the entry; callers take a lock.
    void set(const void* host, Function* function);

  private:
    struct Slot {
        std::atomic<const void*> host{nullptr};
        std::atomic<Function*> function{nullptr};
    };
    struct Table {
        explicit Table(std::size_t size) : slots(size) {}
        std::vector<Slot> slots;  // a power of two of them
        std::size_t used = 0;
    };
    static Slot& slot(Table& table, const void* host) noexcept;

    std::atomic<Table*> table_{nullptr};
    std::vector<std::unique_ptr<Table>> tables_;
};

class Registry {
  public:
    static Registry& get();

    Image* add(const void* wrapper);
    void remove(Image* image) noexcept;
    void add_function(Image* image, const void* host, const char* name);
    void add_variable(Image* image, const void* host, const char* name, bool managed);

    // The kernel of a host function, or of a handle that the runtime or the driver has returned.
    // A context must be current. cudaErrorInvalidDeviceFunction: the function is null, or its image
    // lacks the kernel. cudaErrorInvalidResourceHandle: it is neither function nor handle.
    cudaError_t find_kernel(const void* function, CUkernel& kernel);
    // The kernel of a host function. For a handle of a kernel, the result is
    // cudaErrorInvalidDeviceFunction.
    cudaError_t find_host_kernel(const void* host, CUkernel& kernel);
    bool is_host_function(const void* host) const noexcept { return functions_.find(host); }
    bool is_kernel(CUkernel kernel);
    // The host function of a kernel; null: the kernel has none.
    void* host_of(CUkernel kernel);
    // The host function of a kernel's function in the current context; null: the kernel has none.
    void* host_of(CUfunction function);
    // The place of a variable on the device; cudaErrorInvalidSymbol: the device has no such
    // variable.
    cudaError_t find_variable(const void* symbol, CUdeviceptr& address, std::size_t& bytes);
    // A kernel of a library that the program has loaded itself, until it unloads the library.
    void add_kernel(CUkernel kernel);
    void remove_kernel(CUkernel kernel);

  private:
    Registry() = default;
    cudaError_t kernel_of(Function& function, CUkernel& kernel);

    FunctionTable functions_;
    std::mutex mutex_;  // guards the fields below, and changes of the table
    std::unordered_map<const void*, Variable*> variables_;
    std::unordered_map<CUkernel, const void*> hosts_;  // null: the kernel has no host function
    // Handles that the driver may hand out again. NVIDIA's driver crashes if it is asked about a
    // destroyed handle.
    std::unordered_set<CUkernel> unloaded_;
    std::vector<std::unique_ptr<Image>> images_;
};

// Launches and occupancies take a kernel where they take a function, for the current device.
inline CUfunction as_function(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

using FindKernel = cudaError_t (Registry::*)(const void*, CUkernel&);

// entry() with the kernel of a function, too. `find` says what the program may pass for it.
template <class Call>
cudaError_t entry_with_kernel(const void* function, Call call,
                              FindKernel find = &Registry::find_kernel) noexcept {
    return entry([&](const Driver& d) {
        CUkernel kernel = nullptr;
        const cudaError_t found = (Registry::get().*find)(function, kernel);
        return found == cudaSuccess ? result_of(call(d, kernel)) : found;
    });
}

}  // namespace cupola::cudart
