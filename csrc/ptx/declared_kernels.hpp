// csrc/ptx/declared_kernels.hpp - the kernels and variables that a PTX text declares, without its
// bodies. Text is untrusted, and need not be a valid module.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/type.hpp"

namespace cupola::ptx {

// A kernel's parameter, as its declaration spells it.
struct DeclaredParameter {
    Type type = Type::none;
    bool pointer = false, array = false;
    std::uint64_t count = 1;  // elements of the array
    std::uint64_t align = 0;  // 0 where the declaration has no alignment
};

// Finds one kernel after the other; kernels in comments and strings are none.
class DeclaredKernels {
  public:
    explicit DeclaredKernels(std::string_view text) : text_(text) {}

    // Goes to the next kernel; false where the text has no further kernel.
    bool next();
    std::string_view name() const { return name_; }
    // The kernel's parameters; false where the list can't be read.
    bool parameters(std::vector<DeclaredParameter>& out) const;

  private:
    std::string_view text_, name_, rest_;  // `rest_` follows the name
    std::size_t at_ = 0, entry_ = 0, slash_ = 0, quote_ = 0;
};

// Variables in global and constant memory.
std::vector<std::string> declared_variables(std::string_view text);

}  // namespace cupola::ptx
