// csrc/cpu/device/memory/mem_advise.hpp - the advice of cuMemAdvise for ranges of managed memory.
// It has no effect here; attributes of the range return it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

struct Advice {
    using Place = std::pair<int, int>;  // type of location and its id
    bool read_mostly = false;
    std::optional<Place> preferred, prefetched;
    std::set<int> accessed_by;  // devices; CU_DEVICE_CPU for the host

    bool operator==(const Advice& other) const {
        return read_mostly == other.read_mostly && preferred == other.preferred &&
               prefetched == other.prefetched && accessed_by == other.accessed_by;
    }
};

class AdviceMap {
  public:
    template <class Change>
    void change(std::uintptr_t begin, std::uintptr_t end, Change&& change) {
        std::lock_guard lock(mutex_);
        split(begin);
        split(end);
        // Adds the missing ranges between those that have advice.
        std::uintptr_t at = begin;
        while (at < end) {
            auto it = stretches_.lower_bound(at);
            if (it == stretches_.end() || it->first > at) {
                const std::uintptr_t next =
                    it == stretches_.end() || it->first > end ? end : it->first;
                it = stretches_.emplace(at, Stretch{next, {}}).first;
            }
            change(it->second.advice);
            at = it->second.end;
        }
    }
    // The advice of each part of a range, in order.
    std::vector<Advice> of(std::uintptr_t begin, std::uintptr_t end) const;
    // Called when the memory is freed.
    void forget(std::uintptr_t begin, std::uintptr_t end);

  private:
    struct Stretch {
        std::uintptr_t end;
        Advice advice;
    };
    void split(std::uintptr_t at);

    mutable std::mutex mutex_;
    std::map<std::uintptr_t, Stretch> stretches_;
};

}  // namespace cupola::cpu
