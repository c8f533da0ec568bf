// csrc/dropin/cudart/registry.cpp - images, kernels and variables by host address.
#include "dropin/cudart/registry.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace cupola::cudart {
namespace {

// The structure that nvcc's host code passes to __cudaRegisterFatBinary (fatbinary_section.h).
struct Wrapper {
    static constexpr std::int32_t known_magic = 0x466243b1;
    std::int32_t magic;
    std::int32_t version;       // 1, or 2 after a device link that embeds no code of its own
    const void* code;           // a fatbin
    const void* const* linked;  // in version 2: a list of fatbins to link, with null at its end
};

// The start of a fatbin, which is followed by its entries.
struct FatbinHeader {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t header_bytes;
    std::uint64_t entries_bytes;
};

std::size_t fatbin_bytes(const void* fatbin) {
    FatbinHeader header;
    std::memcpy(&header, fatbin, sizeof header);
    return header.header_bytes + header.entries_bytes;
}

// A load allocates memory, which a capture of another mode would forbid. Programs may launch a
// kernel for the first time while a stream captures.
class RelaxedCapture {
  public:
    RelaxedCapture() { exchange(); }
    ~RelaxedCapture() { exchange(); }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  private:
    void exchange() { driver_tables[0].ThreadExchangeStreamCaptureMode(&mode_); }
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace

// The driver's reasons, which a result code can't carry.
struct JitLog {
    static constexpr unsigned count = 2;
    char text[4096] = "";
    CUjit_option names[count] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[count] = {};

    JitLog() { clear(); }
    // The driver writes the length of its text over the size.
    void clear() {
        text[0] = 0;
        values[0] = text;
        values[1] = reinterpret_cast<void*>(sizeof text);
    }
    void print() const {
        if (text[0])
            std::fprintf(stderr,
                         "cupola: the driver refused the device code of the program; compile and "
                         "link all sources that it needs, with nvcc -rdc=true:\n  %s\n",
                         text);
    }
};

Image::Image(const void* wrapper) { error_ = read(wrapper); }

cudaError_t Image::read(const void* wrapper) {
    if (!wrapper) return cudaErrorInvalidKernelImage;
    const auto& given = *static_cast<const Wrapper*>(wrapper);
    if (given.magic != Wrapper::known_magic || given.version < 1 || given.version > 2)
        return cudaErrorInvalidKernelImage;
    code_ = given.code;
    if (given.version == 2) linked_ = given.linked;
    return code_ || linked_ ? cudaSuccess : cudaErrorInvalidKernelImage;
}

cudaError_t Image::load(CUlibrary& library) {
    library = library_.load(std::memory_order_acquire);
    if (library) return cudaSuccess;
    const std::lock_guard<std::mutex> lock(mutex_);
    library = library_.load(std::memory_order_relaxed);
    if (library) return cudaSuccess;
    if (error_ != cudaSuccess) return error_;
    const RelaxedCapture relaxed;
    const Driver& d = driver_tables[0];
    JitLog log;
    const cudaError_t loaded =
        linked_ ? link(library, log)
                : result_of(d.LibraryLoadData(&library, code_, log.names, log.values, JitLog::count,
                                              nullptr, nullptr, 0));
    if (loaded != cudaSuccess) {
        log.print();
        return loaded;
    }
    for (const auto& variable : variables_) {
        if (!variable->managed) continue;
        void* place = nullptr;
        std::size_t bytes = 0;
        if (d.LibraryGetManaged(reinterpret_cast<CUdeviceptr*>(&place), &bytes, library,
                                variable->name.c_str()) == CUDA_SUCCESS)
            *static_cast<void**>(const_cast<void*>(variable->host)) = place;
    }
    library_.store(library, std::memory_order_release);
    return cudaSuccess;
}

// Links at run time what nvcc -dlink would link, for PTX that nvcc leaves to the driver.
cudaError_t Image::link(CUlibrary& library, JitLog& log) {
    const Driver& d = driver_tables[0];
    CUlinkState state = nullptr;
    if (const CUresult error = d.LinkCreate(JitLog::count, log.names, log.values, &state);
        error != CUDA_SUCCESS)
        return result_of(error);
    CUresult result = CUDA_SUCCESS;
    for (const void* const* each = linked_; *each && result == CUDA_SUCCESS; ++each) {
        result = d.LinkAddData(state, CU_JIT_INPUT_FATBINARY, const_cast<void*>(*each),
                               fatbin_bytes(*each), nullptr, 0, nullptr, nullptr);
        // The device runtime's library has machine code alone. The CPU device has its functions.
        if (result == CUDA_ERROR_NO_BINARY_FOR_GPU) result = CUDA_SUCCESS;
    }
    void* made = nullptr;
    std::size_t bytes = 0;
    if (result == CUDA_SUCCESS) result = d.LinkComplete(state, &made, &bytes);
    if (result == CUDA_SUCCESS) {
        log.clear();
        result = d.LibraryLoadData(&library, made, log.names, log.values, JitLog::count, nullptr,
                                   nullptr, 0);
    }
    d.LinkDestroy(state);
    return result_of(result);
}

// An image that was never used needs no call of the driver, which may not be loaded.
void Image::unload() noexcept {
    CUlibrary const library = library_.exchange(nullptr);
    if (library && Runtime::get().start() == cudaSuccess) driver_tables[0].LibraryUnload(library);
}

FunctionTable::Slot& FunctionTable::slot(Table& table, const void* host) noexcept {
    const std::size_t mask = table.slots.size() - 1;
    std::size_t n = (reinterpret_cast<std::uintptr_t>(host) >> 4) * 0x9e3779b97f4a7c15u >> 20;
    for (;; ++n) {
        Slot& slot = table.slots[n & mask];
        const void* const there = slot.host.load(std::memory_order_acquire);
        if (there == host || !there) return slot;
    }
}

Function* FunctionTable::find(const void* host) const noexcept {
    Table* const table = table_.load(std::memory_order_acquire);
    if (!table || !host) return nullptr;
    return slot(*table, host).function.load(std::memory_order_acquire);
}

void FunctionTable::set(const void* host, Function* function) {
    Table* table = table_.load(std::memory_order_relaxed);
    if (!table || 2 * (table->used + 1) > table->slots.size()) {
        tables_.push_back(std::make_unique<Table>(table ? 2 * table->slots.size() : 64));
        Table* const larger = tables_.back().get();
        if (table)
            for (const Slot& old : table->slots)
                if (Function* const kept = old.function.load(std::memory_order_relaxed)) {
                    Slot& to = slot(*larger, old.host.load(std::memory_order_relaxed));
                    to.function.store(kept, std::memory_order_relaxed);
                    to.host.store(old.host.load(std::memory_order_relaxed),
                                  std::memory_order_relaxed);
                    ++larger->used;
                }
        table_.store(larger, std::memory_order_release);
        table = larger;
    }
    Slot& to = slot(*table, host);
    to.function.store(function, std::memory_order_release);
    if (to.host.exchange(host, std::memory_order_acq_rel) == nullptr) ++table->used;
}

Registry& Registry::get() {
    static Registry* const registry = new Registry;
    return *registry;
}

Image* Registry::add(const void* wrapper) {
    auto image = std::make_unique<Image>(wrapper);
    Image* const made = image.get();
    const std::lock_guard<std::mutex> lock(mutex_);
    images_.push_back(std::move(image));
    return made;
}

void Registry::remove(Image* image) noexcept {
    std::unique_ptr<Image> removed;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto found = std::find_if(images_.begin(), images_.end(),
                                        [image](const auto& each) { return each.get() == image; });
        if (found == images_.end()) return;
        removed = std::move(*found);
        images_.erase(found);
        // Another image may have registered the same address since.
        for (const auto& function : removed->functions_) {
            if (functions_.find(function->host) == function.get())
                functions_.set(function->host, nullptr);
            hosts_.erase(function->kernel.load(std::memory_order_relaxed));
        }
        for (const auto& variable : removed->variables_)
            if (const auto there = variables_.find(variable->host);
                there != variables_.end() && there->second == variable.get())
                variables_.erase(there);
    }
    removed->unload();
}

void Registry::add_function(Image* image, const void* host, const char* name) {
    if (!image || !host || !name) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    image->functions_.push_back(std::make_unique<Function>(image, host, name));
    functions_.set(host, image->functions_.back().get());
}

void Registry::add_variable(Image* image, const void* host, const char* name, bool managed) {
    if (!image || !host || !name) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    image->variables_.push_back(std::make_unique<Variable>(Variable{image, name, host, managed}));
    variables_[host] = image->variables_.back().get();
}

cudaError_t Registry::find_kernel(const void* function, CUkernel& kernel) {
    if (Function* const found = functions_.find(function)) return kernel_of(*found, kernel);
    if (!function) return cudaErrorInvalidDeviceFunction;
    kernel = static_cast<CUkernel>(const_cast<void*>(function));
    return is_kernel(kernel) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t Registry::find_host_kernel(const void* host, CUkernel& kernel) {
    Function* const found = functions_.find(host);
    return found ? kernel_of(*found, kernel) : cudaErrorInvalidDeviceFunction;
}

cudaError_t Registry::kernel_of(Function& function, CUkernel& kernel) {
    kernel = function.kernel.load(std::memory_order_acquire);
    if (kernel) return cudaSuccess;
    CUlibrary library = nullptr;
    if (const cudaError_t error = function.image->load(library); error != cudaSuccess) return error;
    const CUresult result =
        driver_tables[0].LibraryGetKernel(&kernel, library, function.name.c_str());
    if (result != CUDA_SUCCESS) {
        // A kernel is parsed here, and this call has no log.
        const char* const reason = result == CUDA_ERROR_INVALID_PTX ? last_refusal() : nullptr;
        if (reason && *reason)
            std::fprintf(stderr, "cupola: the driver refused the kernel %s:\n  %s\n",
                         function.name.c_str(), reason);
        return result_of(result);
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    hosts_[kernel] = function.host;
    function.kernel.store(kernel, std::memory_order_release);
    return cudaSuccess;
}

bool Registry::is_kernel(CUkernel kernel) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (hosts_.count(kernel)) return true;
        if (unloaded_.count(kernel)) return false;
    }
    // This call does not load the kernel.
    const char* name = nullptr;
    return kernel && driver_tables[0].KernelGetName(&name, kernel) == CUDA_SUCCESS;
}

void* Registry::host_of(CUkernel kernel) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = hosts_.find(kernel);
    return found == hosts_.end() ? nullptr : const_cast<void*>(found->second);
}

// The driver has no function that finds a function's kernel. Nodes are seldom queried.
void* Registry::host_of(CUfunction function) {
    const Driver& d = driver_tables[0];
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [kernel, host] : hosts_)
        if (CUfunction each = nullptr;
            host && d.KernelGetFunction(&each, kernel) == CUDA_SUCCESS && each == function)
            return const_cast<void*>(host);
    return nullptr;
}

cudaError_t Registry::find_variable(const void* symbol, CUdeviceptr& address, std::size_t& bytes) {
    const Variable* variable = nullptr;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (const auto found = variables_.find(symbol); found != variables_.end())
            variable = found->second;
    }
    if (!variable) {  // `&x` of a managed variable is its address on the device
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const auto& [host, each] : variables_)
            if (each->managed && symbol && *static_cast<void* const*>(host) == symbol)
                variable = each;
    }
    if (!variable) return cudaErrorInvalidSymbol;
    CUlibrary library = nullptr;
    if (const cudaError_t error = variable->image->load(library); error != cudaSuccess)
        return error;
    const Driver& d = driver_tables[0];
    const auto get = variable->managed ? d.LibraryGetManaged : d.LibraryGetGlobal;
    const CUresult result = get(&address, &bytes, library, variable->name.c_str());
    const bool unknown = result == CUDA_ERROR_NOT_FOUND && runtime_major == 12;
    return unknown ? cudaErrorInvalidSymbol : result_of(result);
}

void Registry::add_kernel(CUkernel kernel) {
    const std::lock_guard<std::mutex> lock(mutex_);
    hosts_.emplace(kernel, nullptr);
    unloaded_.erase(kernel);
}

void Registry::remove_kernel(CUkernel kernel) {
    const std::lock_guard<std::mutex> lock(mutex_);
    hosts_.erase(kernel);
    unloaded_.insert(kernel);
}

}  // namespace cupola::cudart
