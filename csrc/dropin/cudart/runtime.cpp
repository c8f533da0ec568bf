// csrc/dropin/cudart/runtime.cpp - initialization, contexts and devices.
#include "dropin/cudart/runtime.hpp"

#include <cstdlib>

namespace cupola::cudart {

thread_local Thread this_thread;

// Never destroyed: programs call the runtime from destructors of static objects.
Runtime& Runtime::get() {
    static Runtime* const runtime = new Runtime;
    return *runtime;
}

// An exit handler. Handlers run in reverse order of registration, so this one runs before the
// driver's, and before those in which the program's libraries unregister their images.
void Runtime::end() { get().generation_.store(ended, std::memory_order_release); }

cudaError_t Runtime::load() {
    if (const cudaError_t error = load_driver(); error != cudaSuccess) return error;
    const Driver& d = driver_tables[0];
    if (const CUresult error = d.Init(0); error != CUDA_SUCCESS) return result_of(error);
    int count = 0;
    if (const CUresult error = d.DeviceGetCount(&count); error != CUDA_SUCCESS)
        return result_of(error);
    if (count == 0) return cudaErrorNoDevice;
    devices_.resize(static_cast<std::size_t>(count));
    for (int n = 0; n < count; ++n)
        if (const CUresult error = d.DeviceGet(&devices_[static_cast<std::size_t>(n)].device, n);
            error != CUDA_SUCCESS)
            return result_of(error);
    std::atexit(&Runtime::end);
    return cudaSuccess;
}

cudaError_t Runtime::start() {
    std::call_once(loaded_, [this] {
        try {
            load_error_ = load();
        } catch (const std::bad_alloc&) {
            load_error_ = cudaErrorMemoryAllocation;
        }
    });
    if (generation_.load(std::memory_order_acquire) == ended) return cudaErrorCudartUnloading;
    return load_error_;
}

bool Runtime::find(int ordinal, CUdevice& device) const {
    if (ordinal < 0 || ordinal >= count()) return false;
    device = devices_[static_cast<std::size_t>(ordinal)].device;
    return true;
}

int Runtime::ordinal_of(CUdevice device) const {
    int ordinal = 0;
    for (int n = 0; n < count(); ++n)
        if (devices_[static_cast<std::size_t>(n)].device == device) ordinal = n;
    return ordinal;
}

// The device that the thread has chosen, else the first valid one.
int Runtime::chosen() {
    if (this_thread.device >= 0) return this_thread.device;
    const std::lock_guard<std::mutex> lock(mutex_);
    return preferred_.empty() ? 0 : preferred_.front();
}

// Callers hold the mutex.
cudaError_t Runtime::retain(Device& device) {
    if (device.retained) return cudaSuccess;
    const Driver& d = driver_tables[0];
    const CUresult result = d.DevicePrimaryCtxRetain(&device.primary, device.device);
    device.retained = result == CUDA_SUCCESS;
    // After a kernel's fault, NVIDIA's driver makes no new context in the process.
    if (result >= CUDA_ERROR_ILLEGAL_ADDRESS && result <= CUDA_ERROR_LAUNCH_FAILED)
        return cudaErrorDevicesUnavailable;
    return result_of(result);
}

cudaError_t Runtime::bind(int ordinal) {
    const Driver& d = driver_tables[0];
    Device& device = devices_[static_cast<std::size_t>(ordinal)];
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const cudaError_t error = retain(device); error != cudaSuccess) return error;
    return result_of(d.CtxSetCurrent(device.primary));
}

cudaError_t Runtime::primary_of(int ordinal, CUcontext& context) {
    if (ordinal < 0 || ordinal >= count()) return cudaErrorInvalidDevice;
    Device& device = devices_[static_cast<std::size_t>(ordinal)];
    const std::lock_guard<std::mutex> lock(mutex_);
    const cudaError_t error = retain(device);
    context = device.primary;
    return error;
}

bool Runtime::is_primary(CUcontext context, int ordinal) {
    CUcontext primary = nullptr;
    return is_active(ordinal) && primary_of(ordinal, primary) == cudaSuccess && context == primary;
}

cudaError_t Runtime::enter_slowly() {
    if (const cudaError_t error = start(); error != cudaSuccess) return error;
    const Driver& d = driver_tables[0];
    const unsigned generation = generation_.load(std::memory_order_acquire);
    CUcontext current = nullptr;
    if (const CUresult error = d.CtxGetCurrent(&current); error != CUDA_SUCCESS)
        return result_of(error);
    int wanted = -1;  // the device whose primary context is to be bound
    if (!current) {
        wanted = chosen();
    } else {
        // Create the primary context again if it was reset.
        const std::lock_guard<std::mutex> lock(mutex_);
        for (int n = 0; n < count(); ++n)
            if (const Device& device = devices_[static_cast<std::size_t>(n)];
                device.primary == current && !device.retained)
                wanted = n;
    }
    if (wanted >= 0)
        if (const cudaError_t error = bind(wanted); error != cudaSuccess) return error;
    this_thread.generation = generation;
    return cudaSuccess;
}

cudaError_t Runtime::current(int& ordinal) {
    if (const cudaError_t error = start(); error != cudaSuccess) return error;
    CUcontext context = nullptr;
    CUdevice device = 0;
    const Driver& d = driver_tables[0];
    const CUresult found = d.CtxGetCurrent(&context);
    if (found == CUDA_ERROR_NOT_INITIALIZED) return result_of(found);  // in a forked child
    if (found == CUDA_SUCCESS && context && d.CtxGetDevice(&device) == CUDA_SUCCESS) {
        ordinal = ordinal_of(device);
        return cudaSuccess;
    }
    ordinal = chosen();
    return cudaSuccess;
}

cudaError_t Runtime::choose(int ordinal) {
    if (const cudaError_t error = start(); error != cudaSuccess) return error;
    if (ordinal < 0 || ordinal >= count()) return cudaErrorInvalidDevice;
    this_thread.device = ordinal;
    return bind(ordinal);
}

cudaError_t Runtime::prefer(const int* ordinals, int number) {
    if (const cudaError_t error = start(); error != cudaSuccess) return error;
    if (number < 0 || number > count() || (number > 0 && !ordinals)) return cudaErrorInvalidValue;
    for (int n = 0; n < number; ++n)
        if (ordinals[n] < 0 || ordinals[n] >= count()) return cudaErrorInvalidDevice;
    const std::lock_guard<std::mutex> lock(mutex_);
    preferred_.assign(ordinals, ordinals + number);
    return cudaSuccess;
}

cudaError_t Runtime::reset() {
    int ordinal = 0;
    if (const cudaError_t error = current(ordinal); error != cudaSuccess) return error;
    const Driver& d = driver_tables[0];
    Device& device = devices_[static_cast<std::size_t>(ordinal)];
    CUcontext context = nullptr;
    if (d.CtxGetCurrent(&context) == CUDA_SUCCESS && context && !is_primary(context, ordinal))
        return cudaSuccess;
    if (!context && this_thread.device < 0) return cudaSuccess;
    // Wait for kernels and their output: programs use a reset as their last synchronization.
    if (is_active(ordinal) && bind(ordinal) == cudaSuccess) d.CtxSynchronize();
    const std::lock_guard<std::mutex> lock(mutex_);
    const CUresult result = d.DevicePrimaryCtxReset(device.device);
    if (device.retained) d.DevicePrimaryCtxRelease(device.device);
    device.retained = false;
    device.was_reset = true;
    d.DevicePrimaryCtxSetFlags(device.device, 0);
    d.CtxSetCurrent(nullptr);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    return result_of(result);
}

bool Runtime::was_reset(int ordinal) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return devices_[static_cast<std::size_t>(ordinal)].was_reset;
}

bool Runtime::is_active(int ordinal) const {
    unsigned flags = 0;
    int active = 0;
    CUdevice device = 0;
    return find(ordinal, device) &&
           driver_tables[0].DevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS &&
           active;
}

}  // namespace cupola::cudart
