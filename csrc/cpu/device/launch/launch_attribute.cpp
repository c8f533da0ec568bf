// csrc/cpu/device/launch/launch_attribute.cpp - attributes of a launch: those with an effect,
// hints, and the valid values.
#include <algorithm>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/launch.hpp"
#include "cpu/device/module/module.hpp"
#include "cpu/device/stream/event.hpp"
#include "cpu/device/stream/stream.hpp"

namespace cupola::cpu {
namespace {

constexpr int carveout_attribute = 14, nvlink_attribute = 16;  // newer than CUDA 12.8's headers

void check_window(const CUaccessPolicyWindow& window) {
    const auto property = [](CUaccessProperty value) {
        return value >= CU_ACCESS_PROPERTY_NORMAL && value <= CU_ACCESS_PROPERTY_PERSISTING;
    };
    require(window.hitRatio >= 0 && window.hitRatio <= 1);
    require(property(window.hitProp) && property(window.missProp));
    require(window.missProp != CU_ACCESS_PROPERTY_PERSISTING);
}

// Recorded when the grid has ended: both kinds may be recorded later than their trigger.
std::shared_ptr<Event> event_behind(const Driver& driver, CUevent handle, int flags) {
    require(flags == CU_EVENT_RECORD_DEFAULT);
    auto event = driver.events.get(handle);
    require(!event->timed());
    return event;
}

Dim3 positive(unsigned x, unsigned y, unsigned z, CUresult otherwise) {
    require(x && y && z, otherwise);
    return {x, y, z};
}

bool divides(const Dim3& part, const Dim3& whole) {
    return whole.x % part.x == 0 && whole.y % part.y == 0 && whole.z % part.z == 0;
}

// Preferred larger clusters are optional for a device, and this one does not use them.
void check_preferred(const LaunchShape& shape, const Dim3& preferred) {
    if (!shape.cluster_given) return;
    require(divides(shape.cluster, preferred) && shape.cluster.z == preferred.z);
    require(divides(preferred, shape.grid));
}

}  // namespace

LaunchShape shape_of(const Driver& driver, const CUlaunchConfig& config) {
    LaunchShape shape{{config.gridDimX, config.gridDimY, config.gridDimZ},
                      {config.blockDimX, config.blockDimY, config.blockDimZ},
                      {1, 1, 1},
                      config.sharedMemBytes};
    std::optional<Dim3> preferred;
    require(config.numAttrs == 0 || config.attrs);
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        const CUlaunchAttributeValue& value = config.attrs[i].value;
        unsigned number = 0;  // value of an attribute that older headers lack
        std::copy_n(value.pad, sizeof number, reinterpret_cast<char*>(&number));
        switch (static_cast<int>(config.attrs[i].id)) {
            case CU_LAUNCH_ATTRIBUTE_IGNORE:
            // Any value is accepted: a dependent grid may start early, but never does here.
            case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
                break;
            case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
                check_window(value.accessPolicyWindow);
                break;
            case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
                shape.cooperative = value.cooperative != 0;
                break;
            case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
                require(value.syncPolicy >= CU_SYNC_POLICY_AUTO &&
                        value.syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC);
                break;
            case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
                shape.cluster = positive(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z,
                                         CUDA_ERROR_INVALID_CLUSTER_SIZE);
                shape.cluster_given = true;
                break;
            case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
                require(value.clusterSchedulingPolicyPreference >=
                            CU_CLUSTER_SCHEDULING_POLICY_DEFAULT &&
                        value.clusterSchedulingPolicyPreference <=
                            CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
                break;
            case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
                shape.events.push_back(event_behind(driver, value.programmaticEvent.event,
                                                    value.programmaticEvent.flags));
                break;
            case CU_LAUNCH_ATTRIBUTE_PRIORITY:
                shape.priority = value.priority;
                break;
            case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: {
                const auto domains = static_cast<unsigned>(*Context::current()->device().attribute(
                    CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT));
                require(value.memSyncDomainMap.default_ < domains &&
                        value.memSyncDomainMap.remote < domains);
                break;
            }
            case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
                require(value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT ||
                        value.memSyncDomain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
                break;
            case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
                preferred = positive(value.preferredClusterDim.x, value.preferredClusterDim.y,
                                     value.preferredClusterDim.z, CUDA_ERROR_INVALID_VALUE);
                break;
            case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
                shape.events.push_back(event_behind(driver, value.launchCompletionEvent.event,
                                                    value.launchCompletionEvent.flags));
                break;
            case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
                require(value.deviceUpdatableKernelNode.deviceUpdatable == 0 ||
                        value.deviceUpdatableKernelNode.deviceUpdatable == 1);
                fail(CUDA_ERROR_NOT_SUPPORTED);
            // Percent; -1 means no preference, as in the attribute of a function.
            case carveout_attribute:
                require(number <= 100 || number == ~0u);
                break;
            case nvlink_attribute:
                require(number <= 1);
                break;
            default:
                fail(CUDA_ERROR_INVALID_VALUE);
        }
    }
    if (preferred) check_preferred(shape, *preferred);
    return shape;
}

std::optional<Dim3> cluster_of(const LaunchShape& shape, const Function& function) {
    const Kernel& kernel = function.kernel();
    const Dim3 required = function.attributes.required_cluster(kernel);
    Dim3 cluster = required;
    if (required.x || required.y || required.z) {
        require(required.x && required.y && required.z, CUDA_ERROR_INVALID_CLUSTER_SIZE);
        if (shape.cluster_given)
            require(shape.cluster.x == required.x && shape.cluster.y == required.y &&
                        shape.cluster.z == required.z,
                    CUDA_ERROR_INVALID_CLUSTER_SIZE);
    } else if (shape.cluster_given) {
        cluster = shape.cluster;
    } else {
        require(!kernel.explicit_cluster(), CUDA_ERROR_INVALID_CLUSTER_SIZE);
        return std::nullopt;
    }
    // Each factor is at most the limit, so the product cannot overflow.
    const unsigned limit = function.cluster_limit();
    require(cluster.x * std::uint64_t{cluster.y} <= limit && cluster.z <= limit &&
                cluster.x * std::uint64_t{cluster.y} * cluster.z <= limit,
            limit == 1 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_CLUSTER_SIZE);
    require(divides(cluster, shape.grid), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    return cluster;
}

}  // namespace cupola::cpu
