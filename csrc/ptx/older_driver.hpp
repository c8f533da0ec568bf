// csrc/ptx/older_driver.hpp - writes a text for a driver that takes PTX up to a version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/requirement.hpp"

namespace cupola::ptx {

struct ForDriver {
    struct Omitted {
        std::string kernel;
        Requirement requirement;  // of the kernel, or of a function that it uses
    };
    std::string text;              // empty where the driver can take no kernel of the text
    std::vector<Omitted> omitted;  // the kernels that the driver can't take
    bool whole = true;             // no kernel and no function is left out
    Requirement refused;           // where `text` is empty: why
};

// Writes `newest` (90 for 9.0) as the version. Kernels and functions whose statements need a newer
// version are left out, with all that use them, and so are such hints (.pragma). A target with a
// suffix that the driver does not know becomes one that is the same on a device of this compute
// capability (90 for 9.0); the number of a target is never lowered. Throws Error where the text is
// no PTX.
ForDriver for_driver(std::string_view text, unsigned newest, int capability);

}  // namespace cupola::ptx
