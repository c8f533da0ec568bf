// csrc/runtime/context/stream_free_list.hpp - reuses a stream's freed blocks.
//
// An expression frees arrays of the sizes that it allocates. Memory freed in stream order can be
// reused in the same stream without a driver call.
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
    static constexpr std::size_t max_bytes = std::size_t{1} << 20;  // size of a piece at most
    static constexpr std::size_t max_pieces = 8;

    StreamFreeList(Context& context, CUstream stream) : context_(context), stream_(stream) {}
    StreamFreeList(const StreamFreeList&) = delete;
    StreamFreeList& operator=(const StreamFreeList&) = delete;

    // Starts to keep pieces. Only for streams that cupola owns.
    void open();
    // Returns all pieces to the pool and keeps none afterwards.
    void close() noexcept;
    bool takes(std::size_t size) const noexcept { return open_ && size <= max_bytes; }
    // Takes a piece of exactly that size; returns 0 where the list has none.
    CUdeviceptr take(std::size_t size) noexcept;
    // Keeps a piece. The caller must free the piece that is returned in exchange.
    Piece put(Piece piece) noexcept;

    // The bytes that all streams of a device keep.
    static std::size_t bytes(const Context& context);
    // Returns the pieces of all streams of a device to the pool, unless a capture runs. The result
    // is true if any piece was returned. The context must be current.
    static bool flush(const Context& context);

  private:
    class SpinLock;

    std::size_t empty() noexcept;  // returns the pieces to the pool; the bytes returned

    Context& context_;
    const CUstream stream_;
    bool open_ = false;
    std::atomic_flag locked_ = ATOMIC_FLAG_INIT;
    std::size_t count_ = 0;
    std::array<Piece, max_pieces> pieces_;  // in the order in which they were freed
};

}  // namespace cupola
