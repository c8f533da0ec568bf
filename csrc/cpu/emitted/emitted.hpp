// csrc/cpu/emitted/emitted.hpp - all that printed kernels call.
#pragma once

#include "cpu/emitted/atomics.hpp"
#include "cpu/emitted/outlined_access.hpp"
