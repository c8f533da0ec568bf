// csrc/runtime/module/loadable.hpp - an entry of an image, as a driver loads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "image/choice.hpp"
#include "ptx/older_driver.hpp"

namespace cupola {

// The bytes of an entry as the driver loads them. The object owns the bytes that are not in the
// image.
class Loadable {
  public:
    // Rewrites PTX that is newer than the driver, and leaves out the kernels that the driver can't
    // take. Throws CUPOLA_ERROR_IMAGE where the entry can't be unpacked.
    Loadable(const image::Entry& entry, const image::Taker& taker);
    Loadable(const Loadable&) = delete;
    Loadable& operator=(const Loadable&) = delete;

    const void* data() const { return data_; }
    // The code without its fatbin: one of the two texts is empty.
    std::string_view ptx() const { return ptx_; }
    std::string_view machine_code() const { return machine_code_; }
    // Whether the code calls printf or assert.
    bool uses_output() const;

    std::vector<ptx::ForDriver::Omitted> omitted;  // kernels that the driver can't take
    // Why the PTX can't be rewritten for the driver, which then refuses the PTX; else empty.
    std::string too_new;

  private:
    void write_for(const image::Taker& taker);
    void hold(std::string_view bytes);

    std::string unpacked_, written_;
    std::string_view ptx_, machine_code_;
    std::vector<std::uint64_t> aligned_;
    const void* data_ = nullptr;
};

// "needs a driver of CUDA 12.7 or newer (PTX 8.6): line 10: fence.acquire.gpu". The sentence is
// about `kernel`: if a function that the kernel uses has the statement, the text names that
// function.
std::string requirement_text(const ptx::Requirement& requirement, std::string_view kernel = {});

}  // namespace cupola
