// csrc/cpu/device/module/link.hpp - a link: joins PTX texts into one text that can be loaded.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "cpu/device/base/jit.hpp"
#include "ptx/link.hpp"

namespace cupola::cpu {

class Link {
  public:
    Link(unsigned count, CUjit_option* options, void** values);
    CUlinkState handle() { return reinterpret_cast<CUlinkState>(this); }

    // Copies the bytes. Of the input's options, only the register limit has an effect.
    void add(CUjitInputType type, std::string_view bytes, const char* name,
             const JitOptions& options);
    // The image is valid as long as the link.
    std::string_view complete();

  private:
    [[noreturn]] void fail_load(CUresult code, std::string why);

    std::mutex mutex_;
    JitOptions options_;
    ptx::Linker linker_;
    std::string image_;
};

}  // namespace cupola::cpu
