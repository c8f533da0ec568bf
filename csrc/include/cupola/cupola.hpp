// cupola/cupola.hpp - all of the C++ owners: devices, streams, events, memory, modules, kernels,
// graphs. They are inline, over the C ABI of libcupola.so, and need nothing of CUDA.
#ifndef CUPOLA_CUPOLA_HPP
#define CUPOLA_CUPOLA_HPP

#include "cupola/device.hpp"
#include "cupola/error.hpp"
#include "cupola/event.hpp"
#include "cupola/graph.hpp"
#include "cupola/kernel.hpp"
#include "cupola/memory.hpp"
#include "cupola/module.hpp"
#include "cupola/stream.hpp"

#endif  // CUPOLA_CUPOLA_HPP
