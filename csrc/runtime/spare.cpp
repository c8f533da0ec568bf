// csrc/runtime/spare.cpp - small memory that was freed lately in a stream.
#include "runtime/spare.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "runtime/capture.hpp"
#include "runtime/stream.hpp"

namespace cupola {
namespace {

// Never destroyed: streams may end while the process does.
struct Spares {
    std::mutex mutex;
    std::vector<Spare*> all;
};

Spares& spares() {
    static Spares* const all = new Spares;
    return *all;
}

// What looks for mistakes has to see what is freed and what is new.
bool is_watched() {
    const char* checks = std::getenv("CUPOLA_CPU_CHECK");
    return driver().synchronous || (driver().cpu && checks && *checks);
}

}  // namespace

// For the few instructions that a piece takes.
class Spare::Held {
  public:
    explicit Held(Spare& spare) noexcept : spare_(spare) {
        while (spare_.held_.test_and_set(std::memory_order_acquire)) {
        }
    }
    ~Held() { spare_.held_.clear(std::memory_order_release); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

  private:
    Spare& spare_;
};

void Spare::open() {
    if (is_watched()) return;
    std::lock_guard<std::mutex> lock(spares().mutex);
    spares().all.push_back(this);
    open_ = true;
}

void Spare::close() noexcept {
    if (!open_ || !driver_alive()) return;  // in a forked child the mutex may be locked for ever
    std::lock_guard<std::mutex> lock(spares().mutex);
    std::vector<Spare*>& all = spares().all;
    all.erase(std::find(all.begin(), all.end(), this));
    empty();
    open_ = false;
}

CUdeviceptr Spare::take(std::size_t size) noexcept {
    const Held held(*this);
    for (std::size_t i = count_; i-- > 0;) {
        if (pieces_[i].size != size) continue;
        const CUdeviceptr address = pieces_[i].address;
        std::copy(pieces_.begin() + i + 1, pieces_.begin() + count_, pieces_.begin() + i);
        --count_;
        return address;
    }
    return 0;
}

Spare::Piece Spare::put(Piece piece) noexcept {
    const Held held(*this);
    Piece oldest;
    if (count_ == most_pieces) {
        oldest = pieces_.front();
        std::copy(pieces_.begin() + 1, pieces_.end(), pieces_.begin());
        --count_;
    }
    pieces_[count_++] = piece;
    return oldest;
}

std::size_t Spare::empty() noexcept {
    std::array<Piece, most_pieces> pieces;
    std::size_t count = 0, bytes = 0;
    {
        const Held held(*this);
        pieces = pieces_;
        count = std::exchange(count_, 0);
    }
    const Driver* d = driver_alive();
    for (std::size_t i = 0; i < count; ++i) {
        if (d) d->cuMemFreeAsync(pieces[i].address, stream_.handle);
        bytes += pieces[i].size;
    }
    return bytes;
}

std::size_t Spare::bytes(const Context& context) {
    std::lock_guard<std::mutex> lock(spares().mutex);
    std::size_t bytes = 0;
    for (Spare* spare : spares().all) {
        if (&spare->stream_.context != &context) continue;
        const Held held(*spare);
        for (std::size_t i = 0; i < spare->count_; ++i) bytes += spare->pieces_[i].size;
    }
    return bytes;
}

bool Spare::flush(const Context& context) {
    const Capture::Closed closed;
    if (Capture::any()) return false;  // it could become a part of the graph
    std::lock_guard<std::mutex> lock(spares().mutex);
    std::size_t bytes = 0;
    for (Spare* spare : spares().all)
        if (&spare->stream_.context == &context && !Capture::possible(spare->stream_))
            bytes += spare->empty();
    return bytes > 0;
}

}  // namespace cupola
