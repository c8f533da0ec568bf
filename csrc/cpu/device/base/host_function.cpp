// csrc/cpu/device/base/host_function.cpp - marks the threads that are inside a host function.
#include "cpu/device/base/host_function.hpp"

namespace cupola::cpu {

thread_local bool in_host_function = false;

}  // namespace cupola::cpu
