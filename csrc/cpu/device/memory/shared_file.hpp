// csrc/cpu/device/memory/shared_file.hpp - memory that other processes map: an unnamed file, and a
// handle of 64 bytes.
//
// The file is a memfd of the process that created it, so nothing remains after the processes end.
// Another process of the same user opens it as /proc/PID/fd/N. A handle is not trusted: the file
// must be a sealed memfd of cupola and begin with the data in the handle. That data contains a
// random number, so a stale handle never opens a new file.
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

    // Creates a zeroed file. Throws OUT_OF_MEMORY if the host is out of memory or files. `owner` is
    // the number of its pool.
    static std::unique_ptr<SharedFile> make(Use use, std::size_t size, int device = 0,
                                            const Number& owner = {});
    // Opens a file by its handle. Throws INVALID_VALUE for a malformed handle (MAP_FAILED for that
    // of an event), INVALID_CONTEXT for a file of this process that is no memory of a pool,
    // INVALID_HANDLE if the file does not exist (any more).
    static std::unique_ptr<SharedFile> open(Use use, const void* name);
    // Opens a file by a descriptor of the program, which keeps the descriptor. Throws UNKNOWN, like
    // NVIDIA's driver, if it is another kind of file.
    static std::unique_ptr<SharedFile> adopt(Use use, int descriptor);
    ~SharedFile();
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;

    void* map() const;  // maps `length` bytes, which the caller unmaps; throws MAP_FAILED
    void map_at(void* place, std::size_t bytes) const;  // replaces the mapping at `place`
    int duplicate() const;  // a new descriptor, which the program closes
    void name(void* name) const;
    std::size_t size() const { return text_.size; }
    std::size_t length() const;  // in whole pages
    const Number& number() const { return text_.number; }
    const Number& owner() const { return text_.owner; }
    int device() const { return text_.device; }  // ordinal in the process that created it
    int descriptor() const { return descriptor_; }

  private:
    // The beginning of the file, which is also the content of the handle.
    struct Text {
        char magic[8];
        std::uint32_t use;
        std::int32_t process;
        Number number;
        std::uint64_t size;
        std::int32_t descriptor;  // in the process that created the file
        std::int32_t device;
        Number owner;
    };
    static_assert(sizeof(Text) == name_size);

    // Checks that the descriptor is such a sealed file, and reads its beginning.
    static bool intact(int descriptor, Text& text);
    SharedFile(int descriptor, const Text& text) : descriptor_(descriptor), text_(text) {}

    const int descriptor_;
    Text text_;
};

std::size_t in_pages(std::size_t bytes);

}  // namespace cupola::cpu
