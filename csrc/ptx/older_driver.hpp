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
        Requirement requirement;  // of the kernel, or of a function that the kernel uses
    };
    std::string text;              // empty where the driver can take no kernel of the text
    std::vector<Omitted> omitted;  // the kernels that the driver can't take
    bool whole = true;             // every kernel and function of the text is kept
    Requirement refused;           // where `text` is empty: the reason
};

// Writes `newest` (90 for 9.0) as the version. Leaves out each kernel and function whose statements
// need a newer version, the kernels and functions that use it, and each hint (.pragma) that needs a
// newer version. Replaces a target whose suffix the driver does not know by a target that means the
// same on a device of this compute capability (90 for 9.0). Never lowers the number of a target.
// Throws Error where the text is no PTX.
ForDriver for_driver(std::string_view text, unsigned newest, int capability);

}  // namespace cupola::ptx
