// csrc/runtime/launch/launch_attributes.cpp - checks launch attributes and passes them to the
// driver.
#include "runtime/context/flight.hpp"
#include "runtime/module/kernel.hpp"

namespace cupola {
namespace {

constexpr int portable_cluster = 8;  // blocks; every device with clusters supports it

std::uint64_t blocks_of(const std::uint32_t (&cluster)[3]) {
    return std::uint64_t(cluster[0]) * cluster[1] * cluster[2];
}

}  // namespace

void Kernel::check_attributes(const cupola_dimensions& d, const cupola_attributes& a) const {
    const auto need = [&](int capability, const char* what) {
        if (context.capability < capability)
            fail(CUPOLA_ERROR_VALUE, title + ": " + what + " need a device of compute capability " +
                                         capability_text(capability) + " or newer; " +
                                         context.name + " has " +
                                         capability_text(context.capability));
    };
    constexpr unsigned known =
        CUPOLA_COOPERATIVE | CUPOLA_DEPENDENT | CUPOLA_PRIORITY | CUPOLA_CARVEOUT;
    if (a.flags & ~known)
        fail(CUPOLA_ERROR_VALUE, title + ": unknown launch flags " + std::to_string(a.flags));
    if (a.flags & CUPOLA_DEPENDENT) need(90, "programmatic dependent launches");
    if (a.flags & CUPOLA_COOPERATIVE && !context.attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH))
        fail(CUPOLA_ERROR_VALUE, title + ": " + context.name + " has no cooperative launches");
    if (a.flags & CUPOLA_CARVEOUT && (a.carveout < 0 || a.carveout > 100))
        fail(CUPOLA_ERROR_VALUE, title +
                                     ": the carve-out must be a percentage from 0 to 100, got " +
                                     std::to_string(a.carveout));
    if (!(a.cluster[0] | a.cluster[1] | a.cluster[2])) return;
    need(90, "thread-block clusters");
    for (int axis = 0; axis < 3; ++axis)
        if (a.cluster[axis] == 0)
            fail(CUPOLA_ERROR_VALUE, title + ": cluster " + triple(a.cluster) +
                                         " has a zero dimension; each must be at least 1");
    for (int axis = 0; axis < 3; ++axis)
        if (d.grid[axis] % a.cluster[axis] != 0)
            fail(CUPOLA_ERROR_VALUE, title + ": grid " + triple(d.grid) +
                                         " is not a multiple of cluster " + triple(a.cluster) +
                                         " along each axis");
}

CUresult Kernel::send(const cupola_dimensions& d, const cupola_attributes& a, void** pointers,
                      CUstream stream) const {
    const Driver& driver = context.driver;
    if (!driver.cuLaunchKernelEx)
        fail(CUPOLA_ERROR_VALUE, title + ": this driver is of CUDA " +
                                     version_text(driver.version) +
                                     "; launches with attributes need 11.6 or newer");
    CUlaunchAttribute attributes[5]{};
    unsigned count = 0;
    const auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue& {
        attributes[count].id = id;
        return attributes[count++].value;
    };
    if (const std::uint64_t blocks = blocks_of(a.cluster)) {
        auto& cluster = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
        cluster = {a.cluster[0], a.cluster[1], a.cluster[2]};
        if (blocks > portable_cluster && !allowed_clusters_) {
            const ContextScope current(context);
            CUPOLA_CALL(context.driver, cuFuncSetAttribute, handle,
                        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
            allowed_clusters_ = true;  // set last: another thread may launch concurrently
        }
    }
    if (a.flags & CUPOLA_COOPERATIVE) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
    if (a.flags & CUPOLA_DEPENDENT)
        add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            .programmaticStreamSerializationAllowed = 1;
    if (a.flags & CUPOLA_PRIORITY) add(CU_LAUNCH_ATTRIBUTE_PRIORITY).priority = a.priority;
    if (a.flags & CUPOLA_CARVEOUT)
        add(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT).sharedMemCarveout =
            static_cast<unsigned>(a.carveout);
    CUlaunchConfig config{};
    config.gridDimX = d.grid[0];
    config.gridDimY = d.grid[1];
    config.gridDimZ = d.grid[2];
    config.blockDimX = d.block[0];
    config.blockDimY = d.block[1];
    config.blockDimZ = d.block[2];
    config.sharedMemBytes = d.shared;
    config.hStream = stream;
    config.attrs = attributes;
    config.numAttrs = count;
    return driver.cuLaunchKernelEx(&config, handle, pointers, nullptr);
}

}  // namespace cupola
