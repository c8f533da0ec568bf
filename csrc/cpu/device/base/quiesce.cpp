// csrc/cpu/device/base/quiesce.cpp - closes the gate, and waits for it.
#include "cpu/device/base/quiesce.hpp"

#include <chrono>
#include <thread>

#include "cpu/device/base/driver_state.hpp"
#include "cpu/device/base/failure.hpp"

namespace cupola::cpu {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds closed_at_most = 5ms, open_at_least = 1ms, glance = 20us;

}  // namespace

void QuiesceGate::await() {
    do {
        running_.fetch_sub(1);
        while (closed_.load()) std::this_thread::sleep_for(glance);
        running_.fetch_add(1);
    } while (closed_.load());
}

void QuiesceGate::run_quiesced(const std::function<void()>& body) {
    std::lock_guard lock(mutex_);
    struct Open {
        std::atomic<bool>& closed;
        ~Open() { closed.store(false); }
    };
    for (;;) {
        require_success(DriverState::get());
        {
            const Open open{closed_};
            closed_.store(true);
            const auto until = std::chrono::steady_clock::now() + closed_at_most;
            while (running_.load() != 0 && std::chrono::steady_clock::now() < until)
                std::this_thread::sleep_for(glance);
            if (running_.load() == 0) return body();
        }
        std::this_thread::sleep_for(open_at_least);
    }
}

}  // namespace cupola::cpu
