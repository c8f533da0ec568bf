// csrc/cpu/device/memory/mem_advise.cpp - splits ranges of advice where a change begins or ends.
#include "cpu/device/memory/mem_advise.hpp"

#include <algorithm>
#include <iterator>

namespace cupola::cpu {

void AdviceMap::split(std::uintptr_t at) {
    auto it = stretches_.lower_bound(at);
    if (it == stretches_.begin()) return;
    --it;
    if (it->second.end <= at) return;
    stretches_.emplace(at, Stretch{it->second.end, it->second.advice});
    it->second.end = at;
}

std::vector<Advice> AdviceMap::of(std::uintptr_t begin, std::uintptr_t end) const {
    std::lock_guard lock(mutex_);
    std::vector<Advice> found;
    auto it = stretches_.upper_bound(begin);
    if (it != stretches_.begin() && std::prev(it)->second.end > begin) --it;
    std::uintptr_t at = begin;
    while (at < end) {
        if (it == stretches_.end() || it->first > at) {
            found.emplace_back();
            at = it == stretches_.end() ? end : std::min(end, it->first);
        } else {
            found.push_back(it->second.advice);
            at = it->second.end;
            ++it;
        }
    }
    return found;
}

void AdviceMap::forget(std::uintptr_t begin, std::uintptr_t end) {
    std::lock_guard lock(mutex_);
    split(begin);
    split(end);
    stretches_.erase(stretches_.lower_bound(begin), stretches_.lower_bound(end));
}

}  // namespace cupola::cpu
