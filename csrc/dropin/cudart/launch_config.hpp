// csrc/dropin/cudart/launch_config.hpp - the driver's form of cudaLaunchConfig_t.
#pragma once

#include "dropin/cudart/types.hpp"

namespace cupola::cudart {

inline CUlaunchConfig driver_config(const cudaLaunchConfig_t& config) {
    static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute));
    CUlaunchConfig made{};
    made.gridDimX = config.gridDim.x;
    made.gridDimY = config.gridDim.y;
    made.gridDimZ = config.gridDim.z;
    made.blockDimX = config.blockDim.x;
    made.blockDimY = config.blockDim.y;
    made.blockDimZ = config.blockDim.z;
    made.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
    made.hStream = config.stream;
    made.attrs = reinterpret_cast<CUlaunchAttribute*>(config.attrs);
    made.numAttrs = config.numAttrs;
    return made;
}

}  // namespace cupola::cudart
