// csrc/cpu/emitted/emitted.hpp - includes everything that emitted kernels call.
#pragma once

#include "cpu/emitted/atomics.hpp"
#include "cpu/emitted/barrier_regions.hpp"
#include "cpu/emitted/deferred_updates.hpp"
#include "cpu/emitted/lane_loop.hpp"
#include "cpu/emitted/outlined_access.hpp"
