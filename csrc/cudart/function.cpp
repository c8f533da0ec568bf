// csrc/cudart/function.cpp - attributes and names of kernels.
#include "cudart/cudart.hpp"
#include "cudart/registry.hpp"

namespace cupola::cudart {
namespace {

// Runs the body with a function's kernel and the current device.
template <class Call>
cudaError_t entry_with_kernel(const void* function, Call call) {
    return entry([&](const Driver& d) -> cudaError_t {
        CUkernel kernel = nullptr;
        if (const cudaError_t found = Registry::get().find_kernel(function, kernel);
            found != cudaSuccess)
            return found;
        CUdevice device = 0;
        if (const CUresult error = d.CtxGetDevice(&device); error != CUDA_SUCCESS)
            return result_of(error);
        return result_of(call(d, kernel, device));
    });
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
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel, CUdevice device) {
        return attributes ? get_attributes(d, kernel, device, *attributes)
                          : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute,
                                               int value) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel, CUdevice device) {
        return d.KernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value, kernel,
                                    device);
    });
}

CUPOLA_CUDART cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                          cudaFuncAttribute attribute, int value,
                                                          int ordinal) {
    return entry_with_kernel(kernel, [&](const Driver& d, CUkernel found, CUdevice) -> cudaError_t {
        CUdevice device = 0;
        if (!Runtime::get().find(ordinal, device)) return cudaErrorInvalidDevice;
        return result_of(d.KernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value,
                                              found, device));
    });
}

CUPOLA_CUDART cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel, CUdevice device) {
        return d.KernelSetCacheConfig(kernel, static_cast<CUfunc_cache>(config), device);
    });
}

CUPOLA_CUDART cudaError_t cudaFuncSetSharedMemConfig(const void* function,
                                                     cudaSharedMemConfig config) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel, CUdevice) {
        CUfunction loaded = nullptr;
        const CUresult result = d.KernelGetFunction(&loaded, kernel);
        return result == CUDA_SUCCESS
                   ? d.FuncSetSharedMemConfig(loaded, static_cast<CUsharedconfig>(config))
                   : result;
    });
}

CUPOLA_CUDART cudaError_t cudaFuncGetName(const char** name, const void* function) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel, CUdevice) {
        return name ? d.KernelGetName(name, kernel) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaFuncGetParamInfo(const void* function, size_t index, size_t* offset,
                                               size_t* bytes) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel, CUdevice) {
        return offset ? d.KernelGetParamInfo(kernel, index, offset, bytes)
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaGetFuncBySymbol(cudaFunction_t* loaded, const void* function) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel, CUdevice) {
        return loaded ? d.KernelGetFunction(loaded, kernel) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    return entry_with_kernel(function, [&](const Driver&, CUkernel found, CUdevice) {
        if (!kernel) return CUDA_ERROR_INVALID_VALUE;
        *kernel = reinterpret_cast<cudaKernel_t>(found);
        return CUDA_SUCCESS;
    });
}
