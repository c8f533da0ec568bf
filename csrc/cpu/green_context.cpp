// csrc/cpu/green_context.cpp - resources of devices, and contexts that have a part of them.
#include "cpu/green_context.hpp"

#include <cstring>

#include "cpu/context.hpp"
#include "cpu/device.hpp"
#include "cpu/driver.hpp"

namespace cupola::cpu {
namespace {

// In the bytes of a resource that belong to the driver: by it the driver knows its own.
struct Seal {
    std::uint64_t green_mark;
    int device;
    unsigned count;
    unsigned whole;  // no bool: the bytes come from the program
};
constexpr std::uint64_t green_mark = 0x63726e6765657231;
static_assert(sizeof(Seal) <= sizeof(CUdevResource::_internal_padding));

Seal seal_of(const CUdevResource& it) {
    Seal seal;
    std::memcpy(&seal, it._internal_padding, sizeof seal);
    return seal;
}

std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{std::uint64_t{1} << 32};  // contexts' are below
    return ++last;
}

}  // namespace

SmResource SmResource::of(const Device& device) {
    return {static_cast<unsigned>(device.multiprocessors()), true};
}

bool SmResource::made(const CUdevResource& it, const Device& device) {
    const Seal seal = seal_of(it);
    return seal.green_mark == green_mark && seal.device == device.ordinal() &&
           seal.count == it.sm.smCount;
}

SmResource SmResource::read(const CUdevResource& from, const Device& device) {
    require(from.type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
    require(made(from, device), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
    const Seal seal = seal_of(from);
    return {seal.count, seal.whole != 0};
}

// A processor can be taken one by one: partitions have neither a least size nor an alignment. What
// a split gave says zero, as NVIDIA's driver does.
CUdevResource SmResource::written(const Device& device) const {
    CUdevResource out{};
    if (count == 0) return out;
    const Seal seal{green_mark, device.ordinal(), count, whole ? 1u : 0u};
    out.type = CU_DEV_RESOURCE_TYPE_SM;
    std::memcpy(out._internal_padding, &seal, sizeof seal);
    out.sm.smCount = count;
    out.sm.minSmPartitionSize = out.sm.smCoscheduledAlignment = whole ? 1 : 0;
    return out;
}

GreenContext::GreenContext(Device& device, unsigned multiprocessors)
    : device_(device),
      context_(device.retain_primary()),
      multiprocessors_(multiprocessors),
      id_(next_id()) {}

GreenContext::~GreenContext() = default;

// Never destroyed: a call may come while the process exits.
Registry<GreenContext>& GreenContext::all() {
    static auto* const all = new Registry<GreenContext>;
    return *all;
}

}  // namespace cupola::cpu
