// cupola/cupola.hpp - all C++ owners: devices, streams, events, memory, modules, kernels, graphs.
//
// They are inline, call the C ABI of libcupola.so, and need no CUDA headers.
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
