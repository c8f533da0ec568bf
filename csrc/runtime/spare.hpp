// csrc/runtime/spare.hpp - small memory that was freed lately in a stream, for what it allocates
// next.
//
// An expression frees arrays of the size that it allocates. What is freed in a stream's order may
// be used again in it at once: neither the driver nor anybody else has to be asked.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace cupola {

struct Context;
class Stream;

class Spare {
  public:
    struct Piece {
        CUdeviceptr address = 0;  // 0: none
        std::size_t size = 0;
    };
    static constexpr std::size_t most_bytes = std::size_t{1} << 20;  // of a piece
    static constexpr std::size_t most_pieces = 8;

    explicit Spare(Stream& stream) : stream_(stream) {}
    Spare(const Spare&) = delete;
    Spare& operator=(const Spare&) = delete;

    // From here on it keeps pieces. Of a stream that lives as long as cupola says, and no other's.
    void open();
    // Gives all of it back to the pool, and keeps no more.
    void close() noexcept;
    bool takes(std::size_t size) const noexcept { return open_ && size <= most_bytes; }
    // Of just that size, or 0.
    CUdeviceptr take(std::size_t size) noexcept;
    // Keeps a piece that it takes; the one that has to go for it is the caller's.
    Piece put(Piece piece) noexcept;

    // What all streams of a device keep, in bytes.
    static std::size_t bytes(const Context& context);
    // Gives that back to the pool, unless a capture runs; whether there was any. The context is
    // current.
    static bool flush(const Context& context);

  private:
    class Held;  // a lock

    std::size_t empty() noexcept;  // into the pool; bytes

    Stream& stream_;
    bool open_ = false;
    std::atomic_flag held_ = ATOMIC_FLAG_INIT;
    std::size_t count_ = 0;
    std::array<Piece, most_pieces> pieces_;  // the one that was freed last is the last
};

}  // namespace cupola
