// csrc/runtime/context/stream_free_list.hpp - freed blocks of a stream, kept for its next
// allocations.
//
// An expression frees arrays of the size that it allocates. Memory that is freed in a stream's
// order may be used again in that stream without a call of the driver.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace cupola {

struct Context;

class StreamFreeList {
  public:
    struct Piece {
        CUdeviceptr address = 0;  // 0: none
        std::size_t size = 0;
    };
    static constexpr std::size_t max_bytes = std::size_t{1} << 20;  // of a piece
    static constexpr std::size_t max_pieces = 8;

    StreamFreeList(Context& context, CUstream stream) : context_(context), stream_(stream) {}
    StreamFreeList(const StreamFreeList&) = delete;
    StreamFreeList& operator=(const StreamFreeList&) = delete;

    // From here on it keeps pieces. Only for streams that cupola owns.
    void open();
    // Gives all pieces back to the pool, and keeps no more.
    void close() noexcept;
    bool takes(std::size_t size) const noexcept { return open_ && size <= max_bytes; }
    // A piece of exactly that size, or 0.
    CUdeviceptr take(std::size_t size) noexcept;
    // Keeps a piece. The caller frees the piece that is returned in exchange.
    Piece put(Piece piece) noexcept;

    // The bytes that all streams of a device keep.
    static std::size_t bytes(const Context& context);
    // Gives the pieces of all streams of a device back to the pool, unless a capture runs. Returns
    // whether there was any. The context is current.
    static bool flush(const Context& context);

  private:
    class SpinLock;

    std::size_t empty() noexcept;  // into the pool; bytes

    Context& context_;
    const CUstream stream_;
    bool open_ = false;
    std::atomic_flag locked_ = ATOMIC_FLAG_INIT;
    std::size_t count_ = 0;
    std::array<Piece, max_pieces> pieces_;  // the one that was freed last is the last
};

}  // namespace cupola
