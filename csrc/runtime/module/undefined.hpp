// csrc/runtime/module/undefined.hpp - names the symbols that a driver's log reports as undefined.
#pragma once

#include <string>

namespace cupola {

// A line for each function or variable that the log reports as undefined: its C++ name and the
// remedy. Empty where the log reports none.
std::string undefined_symbols(const std::string& log);

}  // namespace cupola
