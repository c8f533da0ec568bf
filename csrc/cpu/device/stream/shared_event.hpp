// csrc/cpu/device/stream/shared_event.hpp - the number of records of an event, and which of them
// are done, in a page that several processes map.
//
// Records are numbered over all processes. A few dozen may be pending at once; another one waits in
// its stream for the oldest. A recording process holds a lock on the file at its own offset while
// it lives, so other processes do not wait for records of a dead process.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "cpu/device/memory/shared_file.hpp"

namespace cupola::cpu {

class SharedEvent {
  public:
    enum class State { pending, done, lost };  // lost: the recording process has ended

    static std::shared_ptr<SharedEvent> make();
    static std::shared_ptr<SharedEvent> open(const void* name);  // fails like SharedFile::open
    ~SharedEvent();

    bool mine() const { return mine_; }
    void name(void* name) const { file_->name(name); }

    std::uint64_t record();      // a new record of this process; returns its number
    std::uint64_t last() const;  // number of the last record; 0 before the first
    State state(std::uint64_t number) const;
    void complete(std::uint64_t number);
    // Waits and returns the state; pending if `give_up` returned true.
    State wait(std::uint64_t number, const std::function<bool()>& give_up) const;
    // The record that must be done before this one can start.
    static std::uint64_t before(std::uint64_t number);

  private:
    struct Page;

    SharedEvent(std::unique_ptr<SharedFile> file, bool mine);
    void appear();

    const std::unique_ptr<SharedFile> file_;
    Page* const page_;
    const bool mine_;
    std::once_flag appeared_;
};

}  // namespace cupola::cpu
