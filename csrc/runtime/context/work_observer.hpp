// csrc/runtime/context/work_observer.hpp - sees the device work that one thread queues.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cupola/launch.h"
#include "runtime/driver/driver.hpp"

namespace cupola {

class Kernel;
class Memory;
class Stream;

// While a thread has an observer, the drivers' flag `recorded` is set, so other threads and times
// pay for a test of a flag alone.
class WorkObserver {
  public:
    virtual ~WorkObserver() = default;

    // Each of these three returns whether the work is sent to the device.
    virtual bool launch(Kernel& kernel, const cupola_dimensions& dimensions,
                        const cupola_attributes* attributes, void* const* pointers,
                        Stream& stream) = 0;
    virtual bool fill(std::uint64_t to, std::uint32_t value, int width, std::size_t count,
                      Stream& stream) = 0;
    virtual bool copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream& stream) = 0;
    virtual void allocated(Memory& memory) = 0;
    // Whether no other memory may begin where new memory ends.
    virtual bool separates() const noexcept = 0;
    // For work and waits of any other kind.
    virtual void refuse() noexcept = 0;

    // This thread's observer, or null.
    static WorkObserver* of(const Driver& driver) noexcept {
        if (__builtin_expect(
                !(driver.instrumented.load(std::memory_order_relaxed) & Driver::recorded), 1))
            return nullptr;
        return current();
    }

    // Tells this thread's observer, if any, of work of another library.
    static void refuse_current() noexcept;

  protected:
    // Sets this thread's observer; false where the thread has one.
    static bool enter(WorkObserver& observer) noexcept;
    static void leave() noexcept;

  private:
    [[gnu::cold]] static WorkObserver* current() noexcept;
};

}  // namespace cupola
