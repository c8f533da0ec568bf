// csrc/cpu/device/base/held_output.hpp - text of device printf that waits for the program to take
// it.
//
// Off by default: a grid writes to C's stdout. The runtime turns it on while Python's sys.stdout is
// not the process's own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>

namespace cupola::cpu {

class HeldOutput {
  public:
    static HeldOutput& get();

    // Whether grids that are launched from now on hold their text.
    void hold(bool on) { on_.store(on, std::memory_order_relaxed); }
    bool is_on() const { return on_.load(std::memory_order_relaxed); }

    // Adds the text of one printf. Beyond `limit` bytes the oldest text is lost, as on a GPU.
    void add(std::string_view text, std::size_t limit);
    std::size_t bytes() const { return bytes_.load(std::memory_order_acquire); }
    // Moves up to `room` of the oldest bytes to `to`; returns their number. A line tells of lost
    // text.
    std::size_t take(char* to, std::size_t room);

  private:
    std::atomic<bool> on_{false};
    std::atomic<std::size_t> bytes_{0};
    std::mutex mutex_;
    std::deque<std::string> texts_;
    std::uint64_t lost_ = 0;
};

}  // namespace cupola::cpu
