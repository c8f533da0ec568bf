// csrc/runtime/base/intern.hpp - texts that are never freed.
#pragma once

#include <string>

namespace cupola {

// A copy of the text that is never freed, shared by equal texts. For names that outlive the objects
// they name.
const char* intern(const std::string& text);

}  // namespace cupola
