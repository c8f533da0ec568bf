// tests/fuzz/device_runtime.hpp - a device runtime without functions: a fuzzer has no driver half.
// A program includes it once.
#pragma once

#include "cpu/interpreter/device_runtime.hpp"

const cupola::cpu::DeviceFunction* cupola::cpu::find_device_function(std::string_view) {
    return nullptr;
}
