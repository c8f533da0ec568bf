// csrc/cpu/lazy_kernels.hpp - an image of many kernels, each of which is read when it is asked for.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/execute.hpp"

namespace cupola::cpu {

// kernel() may throw ptx::Error: what is wrong with a kernel is found when it is read. kernels()
// reads all of them.
class LazyImage : public Image {
  public:
    // Null where the text is to be read as a whole: its form is another than a compiler's, its
    // kernels share much code, or functions are called through pointers, which one kernel may hand
    // to another. Throws ptx::Error where what belongs to no kernel is wrong.
    static std::shared_ptr<LazyImage> build(std::string_view ptx, Memory memory);

    virtual const std::vector<std::string>& names() const = 0;
};

}  // namespace cupola::cpu
