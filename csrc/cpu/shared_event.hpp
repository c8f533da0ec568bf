// csrc/cpu/shared_event.hpp - how often an event was recorded and which of the records are done, in
// a page that several processes map.
//
// Records are numbered, over all processes. A few dozen may be under way at once; one more waits,
// in its stream, for the oldest of them. A process that records holds a lock on the file for as
// long as it lives, at its own number, so that nobody waits for one that is gone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "cpu/shared_file.hpp"

namespace cupola::cpu {

class SharedEvent {
  public:
    enum class State { pending, done, lost };  // lost: the process that recorded it has ended

    static std::shared_ptr<SharedEvent> make();
    static std::shared_ptr<SharedEvent> open(const void* name);  // fails as SharedFile::open
    ~SharedEvent();

    bool mine() const { return mine_; }
    void name(void* name) const { file_->name(name); }

    std::uint64_t record();      // the number of a new record, of this process
    std::uint64_t last() const;  // of the last one; 0 before the first
    State state(std::uint64_t number) const;
    void complete(std::uint64_t number);
    // The state after waiting: pending where `give_up` said so.
    State wait(std::uint64_t number, const std::function<bool()>& give_up) const;
    // What has to be done before a record can be.
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
