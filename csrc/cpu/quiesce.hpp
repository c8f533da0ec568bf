// csrc/cpu/quiesce.hpp - moments in which no work of any stream is under way.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

namespace cupola::cpu {

class QuiesceGate {
  public:
    // Around each piece of work that touches memory.
    class Pass {
      public:
        explicit Pass(QuiesceGate& gate) : gate_(gate) { gate.enter(); }
        ~Pass() { gate_.running_.fetch_sub(1); }
        Pass(const Pass&) = delete;
        Pass& operator=(const Pass&) = delete;

      private:
        QuiesceGate& gate_;
    };

    // Calls `body` in such a moment. What is under way may wait for work that has yet to begin, so
    // the gate is closed for short times only, until one of them is enough.
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
