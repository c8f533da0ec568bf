// csrc/cpu/interpreter/lazy_kernels.hpp - an image with many kernels, each parsed at its first use.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/interpreter/execute.hpp"

namespace cupola::cpu {

// kernel() may throw ptx::Error, because it parses the kernel. kernels() parses all of them.
class LazyImage : public Image {
  public:
    // Returns null if the text must be parsed as a whole: a compiler did not write it, its kernels
    // share much code, or it has indirect calls, whose pointers kernels may pass to each other.
    // Throws ptx::Error for an error outside of kernels.
    static std::shared_ptr<LazyImage> build(std::string_view ptx, Memory memory);

    virtual const std::vector<std::string>& names() const = 0;
};

}  // namespace cupola::cpu
