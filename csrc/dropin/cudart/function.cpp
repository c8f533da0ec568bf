// csrc/dropin/cudart/function.cpp - attributes and names of kernels.
#include "dropin/cudart/cudart.hpp"
#include "dropin/cudart/registry.hpp"

namespace cupola::cudart {
namespace {

// Calls `call` with the driver, the kernel, and the current device.
template <class Call>
cudaError_t entry_on_device(const void* function, Call call,
                            FindKernel find = &Registry::find_kernel) {
    const auto on_device = [&](const Driver& d, CUkernel kernel) {
        CUdevice device = 0;
        const CUresult error = d.CtxGetDevice(&device);
        return error == CUDA_SUCCESS ? call(d, kernel, device) : error;
    };
    return entry_with_kernel(function, on_device, find);
}

// Version 12 configures host functions alone.
FindKernel find_configurable() {
    return runtime_major == 12 ? &Registry::find_host_kernel : &Registry::find_kernel;
}

struct AttributeField {
    CUfunction_attribute attribute;
    int cudaFuncAttributes::*field;
};

constexpr AttributeField attribute_fields[] = {
    {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &cudaFuncAttributes::maxThreadsPerBlock},
    {CU_FUNC_ATTRIBUTE_NUM_REGS, &cudaFuncAttributes::numRegs},
    {CU_FUNC_ATTRIBUTE_PTX_VERSION, &cudaFuncAttributes::ptxVersion},
    {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &cudaFuncAttributes::binaryVersion},
    {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &cudaFuncAttributes::cacheModeCA},
    {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
     &cudaFuncAttributes::maxDynamicSharedSizeBytes},
    {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
     &cudaFuncAttributes::preferredShmemCarveout},
    {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &cudaFuncAttributes::clusterDimMustBeSet},
    {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &cudaFuncAttributes::requiredClusterWidth},
    {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &cudaFuncAttributes::requiredClusterHeight},
    {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &cudaFuncAttributes::requiredClusterDepth},
    {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
     &cudaFuncAttributes::clusterSchedulingPolicyPreference},
    {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
     &cudaFuncAttributes::nonPortableClusterSizeAllowed},
};

struct SizeField {
    CUfunction_attribute attribute;
    size_t cudaFuncAttributes::*field;
};

constexpr SizeField size_fields[] = {
    {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &cudaFuncAttributes::sharedSizeBytes},
    {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &cudaFuncAttributes::constSizeBytes},
    {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &cudaFuncAttributes::localSizeBytes},
};

CUresult get_attributes(const Driver& d, CUkernel kernel, CUdevice device,
                        cudaFuncAttributes& attributes) {
    attributes = {};
    int value = 0;
    for (const auto& [attribute, field] : size_fields) {
        if (const CUresult error = d.KernelGetAttribute(&value, attribute, kernel, device);
            error != CUDA_SUCCESS)
            return error;
        attributes.*field = static_cast<size_t>(value);
    }
    for (const auto& [attribute, field] : attribute_fields)
        if (const CUresult error =
                d.KernelGetAttribute(&(attributes.*field), attribute, kernel, device);
            error != CUDA_SUCCESS)
            return error;
    return CUDA_SUCCESS;
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                                const void* function) {
    return entry_on_device(function, [&](const Driver& d, CUkernel kernel, CUdevice device) {
        return attributes ? get_attributes(d, kernel, device, *attributes)
                          : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute,
                                               int value) {
    return entry_on_device(function, [&](const Driver& d, CUkernel kernel, CUdevice device) {
        return d.KernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value, kernel,
                                    device);
    });
}

CUPOLA_CUDART cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                          cudaFuncAttribute attribute, int value,
                                                          int ordinal) {
    return entry([&](const Driver& d) -> cudaError_t {
        const auto given = reinterpret_cast<CUkernel>(kernel);
        if (!Registry::get().is_kernel(given)) return cudaErrorInvalidResourceHandle;
        CUdevice device = 0;
        if (!Runtime::get().find(ordinal, device)) return cudaErrorInvalidDevice;
        return result_of(d.KernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value,
                                              given, device));
    });
}

CUPOLA_CUDART cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
    const auto set = [&](const Driver& d, CUkernel kernel, CUdevice device) {
        return d.KernelSetCacheConfig(kernel, static_cast<CUfunc_cache>(config), device);
    };
    return entry_on_device(function, set, find_configurable());
}

CUPOLA_CUDART cudaError_t cudaFuncSetSharedMemConfig(const void* function,
                                                     cudaSharedMemConfig config) {
    const auto set = [&](const Driver& d, CUkernel kernel) {
        CUfunction loaded = nullptr;
        const CUresult result = d.KernelGetFunction(&loaded, kernel);
        return result == CUDA_SUCCESS
                   ? d.FuncSetSharedMemConfig(loaded, static_cast<CUsharedconfig>(config))
                   : result;
    };
    return entry_with_kernel(function, set, find_configurable());
}

CUPOLA_CUDART cudaError_t cudaFuncGetName(const char** name, const void* function) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel) {
        return name ? d.KernelGetName(name, kernel) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset,
                                               size_t* bytes) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel) {
        return offset ? d.KernelGetParamInfo(kernel, index, offset, bytes)
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

// cudaGetFuncBySymbol and cudaGetKernel take host functions alone. As in NVIDIA's runtime, the
// first function accepts a null pointer for its result.

CUPOLA_CUDART cudaError_t cudaGetFuncBySymbol(cudaFunction_t* loaded, const void* function) {
    const auto get = [&](const Driver& d, CUkernel kernel) {
        return loaded ? d.KernelGetFunction(loaded, kernel) : CUDA_SUCCESS;
    };
    return entry_with_kernel(function, get, &Registry::find_host_kernel);
}

CUPOLA_CUDART cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    return entry([&](const Driver&) {
        return kernel ? Registry::get().find_host_kernel(function,
                                                         *reinterpret_cast<CUkernel*>(kernel))
                      : cudaErrorInvalidValue;
    });
}
