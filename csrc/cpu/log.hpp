// csrc/cpu/log.hpp - what the driver has to say beside the results of calls: why PTX was refused,
// and what a kernel did wrong. It is kept for the program to read, and told to who asked for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cpu/cuda.hpp"

namespace cupola::cpu {

class Log {
  public:
    static constexpr std::size_t room = 25600;  // bytes, as cuda.h says; older lines go

    static Log& get();
    // The program is told only by `tell`, since its callbacks may call the driver.
    void error(const std::string& text);
    // Called where the thread holds nothing of the driver's.
    static void tell() {
        if (__builtin_expect(due, 0)) get().tell_due();
    }

    CUlogsCallbackHandle add(CUlogsCallback call, void* data);
    // Waits until other threads are out of it, but not within a callback: two that remove each
    // other would wait for ever. INVALID_VALUE where it is none.
    void remove(CUlogsCallbackHandle handle);

    // Lines are numbered; the number of the next.
    std::uint32_t next() const;
    // The lines from a number on (null: all) that fit into so many bytes, the latest ones; the
    // number is the next one then. Where some are left out, the first line says so. INVALID_VALUE
    // where there are lines and none fits.
    std::string lines(std::uint32_t* from, std::size_t most) const;

  private:
    struct Listener {
        CUlogsCallback call;
        void* data;
        unsigned running = 0;
    };
    class Call;
    void tell_due();
    void tell_untold();

    static thread_local bool due;  // the thread has lines to tell
    mutable std::mutex mutex_;
    std::condition_variable left_;
    std::deque<std::string> lines_;
    std::size_t bytes_ = 0;
    std::uint32_t next_ = 0;  // goes round
    std::map<const void*, std::shared_ptr<Listener>> listeners_;
};

}  // namespace cupola::cpu
