// csrc/cpu/api/coredump.cpp - cu* entry points: settings of core dumps. This driver writes no dump,
// so dumps cannot be enabled.
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"

using namespace cupola::cpu;

namespace {

constexpr std::size_t room = 1024;  // bytes of a path with its NUL

struct DumpSettings {
    std::map<int, bool> flags{{CU_COREDUMP_ENABLE_ON_EXCEPTION, false},
                              {CU_COREDUMP_TRIGGER_HOST, true},
                              {CU_COREDUMP_LIGHTWEIGHT, false},
                              {CU_COREDUMP_ENABLE_USER_TRIGGER, false}};
    std::map<int, std::string> paths{{CU_COREDUMP_FILE, ""}, {CU_COREDUMP_PIPE, ""}};
    unsigned generation = CU_COREDUMP_DEFAULT_FLAGS;
};

std::mutex mutex;

DumpSettings& of_process() {
    static auto* const made = new DumpSettings;
    return *made;
}

// A context copies the settings of the process at its first use.
DumpSettings& of_context(const Context& context) {
    static auto* const made = new std::map<std::uint64_t, DumpSettings>;
    return made->emplace(context.id(), of_process()).first->second;
}

// Settings that a context cannot override.
bool is_of_process(CUcoredumpSettings attribute) {
    return attribute == CU_COREDUMP_ENABLE_USER_TRIGGER || attribute == CU_COREDUMP_PIPE;
}

// Writes (`store`) or reads the bytes of an attribute.
template <class T>
void scalar(T& mine, void* theirs, std::size_t* size, bool store) {
    if (!theirs && !store) {
        *size = sizeof mine;
        return;
    }
    require(theirs && *size == sizeof mine);
    if (store)
        std::memcpy(&mine, theirs, sizeof mine);
    else
        std::memcpy(theirs, &mine, sizeof mine);
}

void get(DumpSettings& settings, CUcoredumpSettings attribute, void* value, std::size_t* size) {
    if (const auto flag = settings.flags.find(attribute); flag != settings.flags.end())
        return scalar(flag->second, value, size, false);
    if (attribute == CU_COREDUMP_GENERATION_FLAGS)
        return scalar(settings.generation, value, size, false);
    const auto path = settings.paths.find(attribute);
    require(path != settings.paths.end());
    if (value)
        std::strncpy(static_cast<char*>(value), path->second.c_str(), *size);
    else
        *size = room;
}

void set(DumpSettings& settings, CUcoredumpSettings attribute, void* value, std::size_t* size) {
    if (const auto flag = settings.flags.find(attribute); flag != settings.flags.end()) {
        unsigned char wanted = 0;
        scalar(wanted, value, size, true);
        const bool writes = attribute == CU_COREDUMP_ENABLE_ON_EXCEPTION ||
                            attribute == CU_COREDUMP_ENABLE_USER_TRIGGER;
        require(!writes || wanted == 0, CUDA_ERROR_NOT_SUPPORTED);
        flag->second = wanted != 0;
        return;
    }
    if (attribute == CU_COREDUMP_GENERATION_FLAGS)
        return scalar(settings.generation, value, size, true);
    const auto path = settings.paths.find(attribute);
    require(path != settings.paths.end() && value && *size > 0 && *size <= room);
    const auto* const text = static_cast<const char*>(value);
    path->second.assign(text, strnlen(text, *size));
}

using Access = void (*)(DumpSettings&, CUcoredumpSettings, void*, std::size_t*);

CUresult local(Access access, CUcoredumpSettings attribute, void* value, std::size_t* size) {
    return entry([&] {
        require(attribute >= CU_COREDUMP_ENABLE_ON_EXCEPTION && attribute < CU_COREDUMP_MAX &&
                size);
        const auto& context = Context::usable();
        require(!is_of_process(attribute));
        std::lock_guard lock(mutex);
        access(of_context(*context), attribute, value, size);
        return CUDA_SUCCESS;
    });
}

// Functions of the global settings work without cuInit.
CUresult global(Access access, CUcoredumpSettings attribute, void* value, std::size_t* size) {
    return guarded([&] {
        require(size);
        std::lock_guard lock(mutex);
        access(of_process(), attribute, value, size);
        return CUDA_SUCCESS;
    });
}

}  // namespace

CUPOLA_API CUresult cuCoredumpGetAttribute(CUcoredumpSettings attribute, void* value,
                                           size_t* size) {
    return local(get, attribute, value, size);
}

CUPOLA_API CUresult cuCoredumpGetAttributeGlobal(CUcoredumpSettings attribute, void* value,
                                                 size_t* size) {
    return global(get, attribute, value, size);
}

CUPOLA_API CUresult cuCoredumpSetAttribute(CUcoredumpSettings attribute, void* value,
                                           size_t* size) {
    return local(set, attribute, value, size);
}

CUPOLA_API CUresult cuCoredumpSetAttributeGlobal(CUcoredumpSettings attribute, void* value,
                                                 size_t* size) {
    return global(set, attribute, value, size);
}
