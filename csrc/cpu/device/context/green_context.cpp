// csrc/cpu/device/context/green_context.cpp - device resources, and contexts with a part of them.
#include "cpu/device/context/green_context.hpp"

#include <cstring>
#include <utility>

#include "cpu/device/base/failure.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/device.hpp"

namespace cupola::cpu {
namespace {

// Stored in the driver's bytes of a resource, to recognise resources of this driver.
struct Seal {
    std::uint64_t green_mark;
    int device;
    unsigned count;
    unsigned whole;  // an integer, not a bool, because the bytes come from the program
};
constexpr std::uint64_t green_mark = 0x63726e6765657231;
static_assert(sizeof(Seal) <= sizeof(CUdevResource::_internal_padding));

Seal seal_of(const CUdevResource& it) {
    Seal seal;
    std::memcpy(&seal, it._internal_padding, sizeof seal);
    return seal;
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

// The smallest part and the alignment of parts, in multiprocessors. Hopper and newer devices have
// multiprocessors in pairs.
unsigned SmResource::unit(const Device& device) { return device.multiprocessors() > 1 ? 2 : 1; }

// In the result of a split both fields are 0, as in NVIDIA's driver.
CUdevResource SmResource::written(const Device& device) const {
    CUdevResource out{};
    if (count == 0) return out;
    const Seal seal{green_mark, device.ordinal(), count, whole ? 1u : 0u};
    out.type = CU_DEV_RESOURCE_TYPE_SM;
    std::memcpy(out._internal_padding, &seal, sizeof seal);
    out.sm.smCount = count;
    out.sm.minSmPartitionSize = out.sm.smCoscheduledAlignment = whole ? unit(device) : 0;
    return out;
}

GreenContext::GreenContext(Device& device, std::shared_ptr<Context> context,
                           unsigned multiprocessors)
    : device_(device),
      context_(std::move(context)),
      view_(std::make_shared<ContextView>(ContextView{context_, this})),
      multiprocessors_(multiprocessors),
      id_(++device.driver().last_green_context_id) {
    device.driver().context_views.add(view_);
}

GreenContext::~GreenContext() = default;

CUcontext GreenContext::context_handle() const { return view_->handle(); }

void GreenContext::close() {
    alive_ = false;
    device_.driver().context_views.remove(view_.get());
}

}  // namespace cupola::cpu
