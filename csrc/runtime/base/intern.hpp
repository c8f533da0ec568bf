// csrc/runtime/base/intern.hpp - texts that are never freed.
#pragma once

#include <string>

namespace cupola {

// A copy of the text that is never freed, one for all equal texts: for names which outlive the
// objects that they name.
const char* intern(const std::string& text);

}  // namespace cupola
