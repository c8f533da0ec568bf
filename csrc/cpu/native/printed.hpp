// csrc/cpu/native/printed.hpp - all that printed kernels call.
#pragma once

#include "cpu/native/apart.hpp"
#include "cpu/native/atomics.hpp"
