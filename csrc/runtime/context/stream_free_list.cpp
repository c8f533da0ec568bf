// csrc/runtime/context/stream_free_list.cpp - keeps and reuses freed blocks.
#include "runtime/context/stream_free_list.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "runtime/context/context.hpp"
#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {
namespace {

// Never destroyed: streams may be released while the process exits.
struct Lists {
    std::mutex mutex;
    std::vector<StreamFreeList*> all;
};

Lists& lists() {
    static Lists* const all = new Lists;
    return *all;
}

// The checkers must see every allocation, so the list keeps nothing under them.
bool is_disabled(const Driver& driver) {
    const char* checks = std::getenv("CUPOLA_CPU_CHECK");
    return driver.synchronous || (driver.cpu && checks && *checks);
}

}  // namespace

// A spin lock: it is held for a few instructions only.
class StreamFreeList::SpinLock {
  public:
    explicit SpinLock(StreamFreeList& list) noexcept : list_(list) {
        while (list_.locked_.test_and_set(std::memory_order_acquire)) {
        }
    }
    ~SpinLock() { list_.locked_.clear(std::memory_order_release); }
    SpinLock(const SpinLock&) = delete;
    SpinLock& operator=(const SpinLock&) = delete;

  private:
    StreamFreeList& list_;
};

void StreamFreeList::open() {
    if (is_disabled(context_.driver)) return;
    std::lock_guard<std::mutex> lock(lists().mutex);
    lists().all.push_back(this);
    open_ = true;
}

void StreamFreeList::close() noexcept {
    if (!open_ || drivers_ended()) return;  // in a forked child the mutex may stay locked
    std::lock_guard<std::mutex> lock(lists().mutex);
    std::vector<StreamFreeList*>& all = lists().all;
    all.erase(std::find(all.begin(), all.end(), this));
    empty();
    open_ = false;
}

CUdeviceptr StreamFreeList::take(std::size_t size) noexcept {
    const SpinLock spin(*this);
    for (std::size_t i = count_; i-- > 0;) {
        if (pieces_[i].size != size) continue;
        const CUdeviceptr address = pieces_[i].address;
        std::copy(pieces_.begin() + i + 1, pieces_.begin() + count_, pieces_.begin() + i);
        --count_;
        return address;
    }
    return 0;
}

StreamFreeList::Piece StreamFreeList::put(Piece piece) noexcept {
    const SpinLock spin(*this);
    Piece oldest;
    if (count_ == max_pieces) {
        oldest = pieces_.front();
        std::copy(pieces_.begin() + 1, pieces_.end(), pieces_.begin());
        --count_;
    }
    pieces_[count_++] = piece;
    return oldest;
}

std::size_t StreamFreeList::empty() noexcept {
    std::array<Piece, max_pieces> pieces;
    std::size_t count = 0, bytes = 0;
    {
        const SpinLock spin(*this);
        pieces = pieces_;
        count = std::exchange(count_, 0);
    }
    const Driver* d = context_.driver.alive();
    for (std::size_t i = 0; i < count; ++i) {
        if (d) d->cuMemFreeAsync(pieces[i].address, stream_);
        bytes += pieces[i].size;
    }
    return bytes;
}

std::size_t StreamFreeList::bytes(const Context& context) {
    std::lock_guard<std::mutex> lock(lists().mutex);
    std::size_t bytes = 0;
    for (StreamFreeList* list : lists().all) {
        if (&list->context_ != &context) continue;
        const SpinLock spin(*list);
        for (std::size_t i = 0; i < list->count_; ++i) bytes += list->pieces_[i].size;
    }
    return bytes;
}

bool StreamFreeList::flush(const Context& context) {
    const CaptureBlock block;
    if (any_capture()) return false;  // freeing could become a node of the captured graph
    std::lock_guard<std::mutex> lock(lists().mutex);
    std::size_t bytes = 0;
    for (StreamFreeList* list : lists().all)
        if (&list->context_ == &context && !may_be_captured(context.driver, list->stream_))
            bytes += list->empty();
    return bytes > 0;
}

}  // namespace cupola
