// csrc/cpu/api/managed_range.cpp - cu* entry points: attributes of ranges of managed memory.
#include <algorithm>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/memory/memory.hpp"

using namespace cupola::cpu;

namespace {

using Places = std::optional<Advice::Place>;

// The value that all parts of the range share.
template <class Of>
auto common(const std::vector<Advice>& all, Of&& of) {
    const auto first = of(all.front());
    const bool alike =
        std::all_of(all.begin(), all.end(), [&](const Advice& it) { return of(it) == first; });
    return alike ? first : decltype(of(all.front())){};
}

// The location as the first forms of these calls encode it.
int number(const Places& place) {
    if (!place) return CU_DEVICE_INVALID;
    return place->first == CU_MEM_LOCATION_TYPE_DEVICE ? place->second : CU_DEVICE_CPU;
}
int kind(const Places& place) { return place ? place->first : CU_MEM_LOCATION_TYPE_INVALID; }
int id(const Places& place) { return place ? place->second : CU_DEVICE_INVALID; }

void write_attribute(void* data, size_t size, CUmem_range_attribute attribute,
                     const std::vector<Advice>& advice) {
    require(data && size >= sizeof(int) && size % sizeof(int) == 0);
    int* const out = static_cast<int*>(data);
    const auto preferred = common(advice, [](const Advice& it) { return it.preferred; });
    const auto prefetched = common(advice, [](const Advice& it) { return it.prefetched; });
    if (attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) require(size == sizeof(int));
    switch (static_cast<int>(attribute)) {
        case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
            *out = common(advice, [](const Advice& it) { return it.read_mostly; });
            return;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
            *out = number(preferred);
            return;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
            *out = kind(preferred);
            return;
        case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
            *out = id(preferred);
            return;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
            *out = number(prefetched);
            return;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
            *out = kind(prefetched);
            return;
        case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
            *out = id(prefetched);
            return;
        case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: {
            // Lists the devices for which every part of the range has this advice.
            std::fill_n(out, size / sizeof(int), CU_DEVICE_INVALID);
            size_t place = 0;
            for (const int device : advice.front().accessed_by)
                if (place < size / sizeof(int) &&
                    std::all_of(advice.begin(), advice.end(),
                                [&](const Advice& it) { return it.accessed_by.count(device); }))
                    out[place++] = device;
            return;
        }
        default:
            fail(CUDA_ERROR_INVALID_VALUE);
    }
}

std::vector<Advice> advice_of(CUdeviceptr address, size_t bytes) {
    Driver& driver = Driver::get();
    const auto found = driver.memory.at(address);
    require(bytes > 0 && found && found->is_managed() && bytes <= found->end() - address);
    return driver.advice.of(address, address + bytes);
}

}  // namespace

CUPOLA_API CUresult cuMemRangeGetAttribute(void* data, size_t size, CUmem_range_attribute attribute,
                                           CUdeviceptr address, size_t bytes) {
    return entry([&] {
        Context::usable();
        write_attribute(data, size, attribute, advice_of(address, bytes));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMemRangeGetAttributes(void** data, size_t* sizes,
                                            CUmem_range_attribute* attributes, size_t count,
                                            CUdeviceptr address, size_t bytes) {
    return entry([&] {
        Context::usable();
        require(data && sizes && attributes && count > 0);
        const auto advice = advice_of(address, bytes);
        for (size_t i = 0; i < count; ++i)
            write_attribute(data[i], sizes[i], attributes[i], advice);
        return CUDA_SUCCESS;
    });
}
