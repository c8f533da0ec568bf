// csrc/runtime/driver/output.hpp - delivers the text of device printf to the program's sink.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

namespace cupola {

class Output {
  public:
    static void set_sink(int (*wanted)(), void (*write)(const char*, std::size_t));
    // Whether images must be searched for printf: a sink is set, and no image had it yet.
    static bool must_search() noexcept {
        return sink_set.load(std::memory_order_relaxed) && !prints.load(std::memory_order_relaxed);
    }
    // Whether code, of a cubin or PTX, calls printf or assert.
    static bool is_used_in(std::string_view code);
    static void found_printf() noexcept;  // in an image
    // Before a launch: delivers the output that has arrived, and lets the CPU device hold the
    // launch's text if the sink wants it.
    static void before_launch();
    static void deliver();

    // Around a wait of the host, after which the text of the awaited work is delivered. Holds no
    // lock; the caller must hold none either.
    class Wait {
      public:
        Wait() : redirected_(prints.load(std::memory_order_relaxed) && begin()) {}
        ~Wait() {
            if (prints.load(std::memory_order_relaxed)) end();
        }
        Wait(const Wait&) = delete;
        Wait& operator=(const Wait&) = delete;

      private:
        static bool begin();
        void end() const;
        const bool redirected_;
    };

  private:
    static std::atomic<bool> sink_set, prints;
};

// The first failed assertion that NVIDIA's driver has reported in `text`, in the form of
// cupola_output_assertion; empty if there is none.
std::string find_assertion(std::string_view text);

}  // namespace cupola
