// csrc/runtime/pipeline/host_array.hpp - a host array that is read and written in C order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cupola {

// A host array of any strides. Its bytes are numbered as in a copy in C order.
class HostArray {
  public:
    HostArray(void* host, const std::int64_t* shape, const std::int64_t* strides, int ndim,
              std::size_t itemsize);

    std::size_t row_bytes() const { return row_bytes_; }
    // Whether the whole array is in C order.
    bool contiguous() const { return axes_.empty(); }
    char* row(std::int64_t index) const { return host_ + index * row_stride_; }

    // Copy bytes [begin, end) out of the array and into it.
    void read(char* to, std::size_t begin, std::size_t end) const;
    void write(const char* from, std::size_t begin, std::size_t end) const;

  private:
    struct Axis {
        std::size_t length;
        std::int64_t stride;
    };
    template <bool reading, class Byte>
    void move(Byte* other, std::size_t begin, std::size_t end) const;
    char* run_at(std::size_t index, std::size_t& following) const;

    char* host_;
    std::int64_t row_stride_ = 0;
    std::size_t row_bytes_ = 0;
    std::size_t run_ = 0;     // contiguous bytes
    std::vector<Axis> axes_;  // axes over runs; the last axis is the innermost
};

}  // namespace cupola
