// csrc/ptx/link.hpp - several PTX texts to one, as a linker would: names that are each text's own
// stay apart, what one declares and another defines becomes one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cupola::ptx {

// The text is of the newest version and target among the inputs. Throws Error where an input is no
// PTX, or two define the same name; what stays undefined is told when the text is parsed.
std::string link(const std::vector<std::string_view>& inputs);

}  // namespace cupola::ptx
