// csrc/cpu/device/base/quiesce.hpp - runs a function while no work of any stream runs.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

namespace cupola::cpu {

class QuiesceGate {
  public:
    // Held around each piece of work that accesses memory.
    class Pass {
      public:
        explicit Pass(QuiesceGate& gate) : gate_(gate) { gate.enter(); }
        ~Pass() { gate_.running_.fetch_sub(1); }
        Pass(const Pass&) = delete;
        Pass& operator=(const Pass&) = delete;

      private:
        QuiesceGate& gate_;
    };

    // Calls `body` while no pass is held. Running work may wait for work that has not started, so
    // the gate closes only for short times and tries again until all work is done.
    void run_quiesced(const std::function<void()>& body);

  private:
    void enter() {
        running_.fetch_add(1);
        if (__builtin_expect(closed_.load(), 0)) await();
    }
    void await();

    std::atomic<int> running_{0};
    std::atomic<bool> closed_{false};
    std::mutex mutex_;
};

}  // namespace cupola::cpu
