// csrc/runtime/resolve.hpp - which driver library: what was tried, what was taken and why.
#pragma once

#include <memory>
#include <string>

#include "runtime/driver.hpp"

namespace cupola {

// Loads and initialises the driver that `choice` asks for: "auto", "cuda", "cpu" or a path;
// `origin` says where the choice came from. Adds a line to `report` for each place. Throws
// Error(CUPOLA_ERROR_NO_DRIVER) with the report.
std::unique_ptr<Driver> resolve_driver(const std::string& choice, const char* origin,
                                       std::string& report);

// Where libcupola.so lies; cupola's CPU device is in cpu/ beside it.
std::string library_path();

}  // namespace cupola
