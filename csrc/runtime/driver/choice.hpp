// csrc/runtime/driver/choice.hpp - chooses and loads a driver library, and reports why.
#pragma once

#include <memory>
#include <string>

#include "runtime/driver/table.hpp"

namespace cupola {

// Loads and initializes a driver. `choice` is "auto", "cuda", "cpu" or a path; `origin` says where
// it was set. Adds a line to `report` for each place. Throws Error(CUPOLA_ERROR_NO_DRIVER) with the
// report.
std::unique_ptr<Driver> choose_driver(const std::string& choice, const char* origin,
                                      std::string& report);

// Loads and initializes the CPU device under its second name, by which no other library finds it.
// Reports and throws in the same way.
std::unique_ptr<Driver> open_cpu_driver(std::string& report);

}  // namespace cupola
