// csrc/dropin/recorder/image.hpp - an image that the program loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupola::recorder {

struct Parameter {
    std::size_t offset = 0, size = 0;
};

class Image {
  public:
    // Bytes at an address, as cuModuleLoadData takes them. They are copied, unless they are part of
    // a library or program. Their form may be unknown: `bytes` is then empty.
    explicit Image(const void* data);
    // The content of a file.
    explicit Image(std::string content);
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;

    std::string_view bytes() const { return bytes_; }
    // Names of variables, by the texts and the machine code of the image.
    const std::vector<std::string>& variables();
    // The parameters of a kernel by the image; false where the image does not say them.
    bool parameters(const std::string& kernel, std::vector<Parameter>& out);

    std::uint64_t number = 0;  // in the spool; 0: not written

  private:
    void read();

    std::string copy_;
    std::string_view bytes_;
    bool was_read_ = false;
    std::vector<std::string> variables_, texts_;
    std::vector<std::pair<std::string, std::vector<Parameter>>> kernels_;  // of machine code
};

}  // namespace cupola::recorder
