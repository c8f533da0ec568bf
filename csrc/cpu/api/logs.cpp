// csrc/cpu/api/logs.cpp - cu* entry points: the driver's log. They also work before cuInit.
#include <cstdio>
#include <cstring>

#include "cpu/device/base/log.hpp"
#include "cpu/device/driver/driver.hpp"

using namespace cupola::cpu;

CUPOLA_API CUresult cuLogsRegisterCallback(CUlogsCallback call, void* data,
                                           CUlogsCallbackHandle* out) {
    return guarded([&] {
        require(call);
        const auto handle = Log::get().add(call, data);
        if (out) *out = handle;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
    return guarded([&] {
        Log::get().remove(handle);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLogsCurrent(CUlogIterator* out, unsigned int) {
    return guarded([&] {
        require(out);  // flags are ignored, as in NVIDIA's driver
        *out = Log::get().next();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLogsDumpToFile(CUlogIterator* iterator, const char* path,
                                     unsigned int flags) {
    return guarded([&] {
        require(path && flags == 0);
        std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "w"), &std::fclose);
        require(file != nullptr);
        std::uint32_t after = iterator ? *iterator : 0;
        const std::string text = Log::get().lines(iterator ? &after : nullptr, SIZE_MAX);
        require(std::fwrite(text.data(), 1, text.size(), file.get()) == text.size());
        require(std::fclose(file.release()) == 0);  // reports a failure to write buffered text
        if (iterator) *iterator = after;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLogsDumpToMemory(CUlogIterator* iterator, char* buffer, size_t* size,
                                       unsigned int flags) {
    return guarded([&] {
        require(buffer && size && flags == 0);
        const std::size_t given = *size;
        *size = 0;
        require(given > 0);
        const std::string text = Log::get().lines(iterator, given - 1);
        std::memcpy(buffer, text.c_str(), text.size() + 1);
        *size = text.size();
        return CUDA_SUCCESS;
    });
}
