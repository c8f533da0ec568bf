// csrc/cpu/device/stream/shared_event.cpp - records, completes and waits across processes. Other
// processes can write the page, so its values are only compared and never used as an index or an
// address.
#include "cpu/device/stream/shared_event.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "cpu/device/base/failure.hpp"

namespace cupola::cpu {
namespace {

constexpr std::uint64_t slots = 64;
constexpr timespec slice{0, 20'000'000};  // sleep time of a waiting thread between checks

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// A process holds a lock on one byte of the file while it lives.
struct flock presence(std::int32_t process, short kind) {
    struct flock lock {};
    lock.l_type = kind;
    lock.l_whence = SEEK_SET;
    lock.l_start = process;
    lock.l_len = 1;
    return lock;
}

}  // namespace

struct SharedEvent::Page {
    std::atomic<std::uint64_t> recorded;
    std::atomic<std::uint32_t> changes;  // futex of waiting threads
    struct Slot {
        std::atomic<std::uint64_t> done;   // number of the last record that is done
        std::atomic<std::uint64_t> owner;  // the lower half of a record's number, and the process
    } slot[slots];
};

SharedEvent::SharedEvent(std::unique_ptr<SharedFile> file, bool mine)
    : file_(std::move(file)), page_(static_cast<Page*>(file_->map())), mine_(mine) {}

std::shared_ptr<SharedEvent> SharedEvent::make() {
    return std::shared_ptr<SharedEvent>(
        new SharedEvent(SharedFile::make(SharedFile::Use::event, sizeof(Page)), true));
}

std::shared_ptr<SharedEvent> SharedEvent::open(const void* name) {
    auto file = SharedFile::open(SharedFile::Use::event, name);
    require(file->size() == sizeof(Page), CUDA_ERROR_INVALID_HANDLE);
    return std::shared_ptr<SharedEvent>(new SharedEvent(std::move(file), false));
}

SharedEvent::~SharedEvent() { munmap(page_, file_->length()); }

void SharedEvent::appear() {
    struct flock lock = presence(getpid(), F_WRLCK);
    require(fcntl(file_->descriptor(), F_OFD_SETLK, &lock) == 0, CUDA_ERROR_OPERATING_SYSTEM);
}

std::uint64_t SharedEvent::record() {
    std::call_once(appeared_, [this] { appear(); });
    const std::uint64_t number = page_->recorded.fetch_add(1) + 1;
    page_->slot[number % slots].owner.store(number << 32 | static_cast<std::uint32_t>(getpid()));
    return number;
}

std::uint64_t SharedEvent::last() const { return page_->recorded.load(); }

std::uint64_t SharedEvent::before(std::uint64_t number) {
    return number > slots ? number - slots : 0;
}

SharedEvent::State SharedEvent::state(std::uint64_t number) const {
    const auto& slot = page_->slot[number % slots];
    const auto done = [&] { return slot.done.load() >= number; };
    if (done()) return State::done;
    const std::uint64_t owner = slot.owner.load();
    const auto process = static_cast<std::int32_t>(owner & 0xffffffff);
    if (owner >> 32 != (number & 0xffffffff) || process == getpid()) return State::pending;
    struct flock lock = presence(process, F_WRLCK);
    if (fcntl(file_->descriptor(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK)
        return State::pending;
    return done() ? State::done : State::lost;
}

void SharedEvent::complete(std::uint64_t number) {
    page_->slot[number % slots].done.store(number);
    page_->changes.fetch_add(1);
    syscall(SYS_futex, &page_->changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

SharedEvent::State SharedEvent::wait(std::uint64_t number,
                                     const std::function<bool()>& give_up) const {
    for (;;) {
        const std::uint32_t seen = page_->changes.load();
        const State now = state(number);
        if (now != State::pending || give_up()) return now;
        syscall(SYS_futex, &page_->changes, FUTEX_WAIT, seen, &slice, nullptr, 0);
    }
}

}  // namespace cupola::cpu
