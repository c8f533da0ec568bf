// csrc/cpu/device/base/log.hpp - the driver's log: errors in PTX and faults of kernels. The program
// can read it or register callbacks.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class Log {
  public:
    static constexpr std::size_t room = 25600;  // bytes, as in cuda.h; older lines are dropped

    static Log& get();
    // Adds a line. Only `tell` calls the program's callbacks, because these may call the driver.
    void error(const std::string& text);
    // Calls the callbacks. The thread must not hold a lock of the driver.
    static void tell() {
        if (__builtin_expect(due, 0)) get().deliver_pending();
    }

    CUlogsCallbackHandle add(CUlogsCallback call, void* data);
    // Waits until no other thread runs the callback. Inside a callback it does not wait, because
    // two callbacks that remove each other would deadlock. Throws INVALID_VALUE for an unknown
    // handle.
    void remove(CUlogsCallbackHandle handle);

    // The number of the next line.
    std::uint32_t next() const;
    // The lines from number `*from` on, or all if `from` is null; sets `*from` to next(). Older
    // lines that do not fit into `most` bytes are left out; the first line then says so. Throws
    // INVALID_VALUE if there are lines and none fits.
    std::string lines(std::uint32_t* from, std::size_t most) const;

  private:
    struct Listener {
        CUlogsCallback call;
        void* data;
        unsigned running = 0;
    };
    class Call;
    void deliver_pending();
    void call_listeners();

    static thread_local bool due;  // the thread has lines for the callbacks
    mutable std::mutex mutex_;
    std::condition_variable left_;
    std::deque<std::string> lines_;
    std::size_t bytes_ = 0;
    std::uint32_t next_ = 0;  // wraps around
    std::map<const void*, std::shared_ptr<Listener>> listeners_;
};

}  // namespace cupola::cpu
