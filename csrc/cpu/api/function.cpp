// csrc/cpu/api/function.cpp - cu* entry points: functions and their attributes.
#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/module/module.hpp"

using namespace cupola::cpu;

CUPOLA_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                       CUfunction function) {
    return entry([&] {
        require(value);
        *value = function_of(function)->get(attribute);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                                       int value) {
    return entry([&] {
        function_of(function)->set(attribute, value);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncGetName(const char** name, CUfunction function) {
    return entry([&] {
        require(name && function);
        *name = function_of(function)->kernel().name().c_str();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncGetModule(CUmodule* module, CUfunction function) {
    return entry([&] {
        require(module && function);
        *module = function_of(function)->module();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset,
                                       size_t* size) {
    return entry([&] {
        require(function);
        return parameter_info(function_of(function)->kernel(), index, offset, size);
    });
}

CUPOLA_API CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
    return entry([&] {
        require(state);
        function_of(function);
        *state = CU_FUNCTION_LOADING_STATE_LOADED;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncLoad(CUfunction function) {
    return entry([&] {
        function_of(function);
        return CUDA_SUCCESS;
    });
}

// Preferences for caches and banks are checked and have no effect.

CUPOLA_API CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
    return entry([&] {
        function_of(function);
        require(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config) {
    return entry([&] {
        function_of(function);
        require(config >= CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE &&
                config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
        return CUDA_SUCCESS;
    });
}
