// csrc/cpu/api/function.cpp - cu* entry points: functions and their attributes.
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/module/library.hpp"
#include "cpu/device/module/module.hpp"

using namespace cupola::cpu;

CUPOLA_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                       CUfunction function) {
    return entry([&] {
        require(value);
        *value = find_function(function)->get(attribute);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                       int value) {
    return entry([&] {
        find_function(function)->set(attribute, value);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncGetName(const char** name, CUfunction function) {
    return entry([&] {
        require(name && function);
        *name = find_function(function)->kernel().name().c_str();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
    return entry([&] {
        require(module && function);
        *module = find_function(function)->module();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                                       size_t* size) {
    return entry([&] {
        require(function);
        return parameter_info(find_function(function)->kernel(), index, offset, size);
    });
}

CUPOLA_API CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
    return entry([&] {
        require(state);
        find_function(function);
        *state = CU_FUNCTION_LOADING_STATE_LOADED;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncLoad(CUfunction function) {
    return entry([&] {
        find_function(function);
        return CUDA_SUCCESS;
    });
}

// Preferences for caches and banks are checked and have no effect.

CUPOLA_API CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
    return entry([&] {
        find_function(function);
        require(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config) {
    return entry([&] {
        find_function(function);
        require(config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
                config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
        return CUDA_SUCCESS;
    });
}
