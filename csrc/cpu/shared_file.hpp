// csrc/cpu/shared_file.hpp - memory that other processes map: a file without a name, and the 64
// bytes by which they find it.
//
// The file is a memfd of the process that made it, so nothing is left behind however processes end.
// Another process of the same user opens it as /proc/PID/fd/N. What it is given is not trusted: the
// file must be one of these, of a size that nobody can change any more, and must begin with what
// the 64 bytes say, a random number among it, by which an old handle never means a new file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace cupola::cpu {

class SharedFile {
  public:
    enum class Use : std::uint32_t { memory = 1, event = 2, piece = 3, pool = 4 };
    static constexpr std::size_t name_size = 64;
    using Number = std::array<std::uint64_t, 2>;

    // Of so many bytes, zero at first. OUT_OF_MEMORY where the host has no more memory or files.
    // `owner`: the number of the pool that it is a piece of.
    static std::unique_ptr<SharedFile> make(Use use, std::size_t size, int device = 0,
                                            const Number& owner = {});
    // Another process's. INVALID_VALUE where the bytes are no such name, INVALID_CONTEXT where they
    // name this process's own, INVALID_HANDLE where there is no such file (any more).
    static std::unique_ptr<SharedFile> open(Use use, const void* name);
    // One that a program has a descriptor of, from whichever process. The descriptor stays its own.
    // UNKNOWN, as NVIDIA's driver says, where it is none of these files.
    static std::unique_ptr<SharedFile> adopt(Use use, int descriptor);
    ~SharedFile();
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;

    void* map() const;  // `length` bytes, for the caller to unmap; MAP_FAILED (205) as a failure
    void map_at(void* place, std::size_t bytes) const;  // in place of what is there
    int duplicate() const;                              // a descriptor for the program to close
    void name(void* name) const;
    std::size_t size() const { return text_.size; }
    std::size_t length() const;  // in whole pages
    const Number& number() const { return text_.number; }
    const Number& owner() const { return text_.owner; }
    int device() const { return text_.device; }  // as the process that made it counts
    int descriptor() const { return descriptor_; }

  private:
    // What the file begins with, and the name of it.
    struct Text {
        char magic[8];
        std::uint32_t use;
        std::int32_t process;
        Number number;
        std::uint64_t size;
        std::int32_t descriptor;  // of that process
        std::int32_t device;
        Number owner;
    };
    static_assert(sizeof(Text) == name_size);

    // Whether the descriptor is of such a file, whole, and what it begins with.
    static bool intact(int descriptor, Text& text);
    SharedFile(int descriptor, const Text& text) : descriptor_(descriptor), text_(text) {}

    const int descriptor_;
    Text text_;
};

std::size_t in_pages(std::size_t bytes);

}  // namespace cupola::cpu
