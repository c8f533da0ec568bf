// csrc/image/bytes.hpp - reads values from untrusted bytes, each within their size, and writes
// values.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "image/error.hpp"

namespace cupola::image {

class Bytes {
  public:
    explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
    std::size_t size() const { return bytes_.size(); }

    template <class T>
    T at(std::uint64_t offset, const char* what) const {
        static_assert(std::is_trivially_copyable_v<T>);
        need(offset, sizeof(T), what);
        T value;
        std::memcpy(&value, bytes_.data() + offset, sizeof value);
        return value;
    }
    std::string_view part(std::uint64_t offset, std::uint64_t length, const char* what) const {
        need(offset, length, what);
        return bytes_.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
    }

  private:
    void need(std::uint64_t offset, std::uint64_t length, const char* what) const {
        if (offset <= size() && length <= size() - offset) return;
        throw Error(std::string("truncated: ") + what + " at offset " + std::to_string(offset) +
                    " needs " + std::to_string(length) + " bytes, but the image has " +
                    std::to_string(size()) + " in all");
    }

    std::string_view bytes_;
};

// Writes a value at an offset, within the bytes.
template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(&bytes[offset], &value, sizeof value);
}

}  // namespace cupola::image
