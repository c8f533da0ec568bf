// csrc/runtime/work/work_plan.hpp - the device work of a call, for calls like it.
#pragma once

#include <cstdint>
#include <vector>

#include "cupola/work.h"
#include "runtime/work/work_record.hpp"

namespace cupola {

// Launches, fills and copies in which only addresses are new. Two records of the same call with
// other operands tell which words are addresses: these words differ by as much as an operand's or
// an allocation's address does. All other words are equal in both. The end of memory is an address
// of it, too. So the second record must have a gap behind each operand and allocation. In the first
// one, memory may begin where other memory ends.
class WorkPlan : public Object {
  public:
    // Null where the records differ in more than addresses.
    static Ref<WorkPlan> of(const WorkRecord& first, const WorkRecord& second,
                            const cupola_extent* first_operands,
                            const cupola_extent* second_operands, std::size_t count);

    std::size_t places() const noexcept { return places_; }

    // Queues the work for operands and allocations at these addresses. With `at_once`, returns
    // false, with nothing queued, where that may wait.
    bool run(const std::uint64_t* addresses, Stream& stream, bool at_once) const;

  private:
    struct Address {
        std::uint32_t word, place;
        std::uint64_t offset;
    };
    struct Planned {
        WorkRecord::Step step;  // its addresses are 0
        std::vector<Address> addresses;
    };

    std::vector<Planned> steps_;
    std::size_t places_ = 0;   // operands and allocations
    bool has_copies_ = false;  // or fills
};

inline WorkRecord* unwrap(cupola_work* work) { return reinterpret_cast<WorkRecord*>(work); }
inline const WorkRecord* unwrap(const cupola_work* w) {
    return reinterpret_cast<const WorkRecord*>(w);
}
inline cupola_work* wrap(WorkRecord* work) { return reinterpret_cast<cupola_work*>(work); }
inline WorkPlan* unwrap(cupola_work_plan* plan) { return reinterpret_cast<WorkPlan*>(plan); }
inline cupola_work_plan* wrap(WorkPlan* plan) { return reinterpret_cast<cupola_work_plan*>(plan); }

}  // namespace cupola
