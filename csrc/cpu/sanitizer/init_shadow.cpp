// csrc/cpu/sanitizer/init_shadow.cpp - one bit for each byte, in lazily allocated pages.
#include "cpu/sanitizer/init_shadow.hpp"

#include <algorithm>
#include <iterator>

namespace cupola::cpu::sanitizer {

void Unwritten::add(std::uintptr_t begin, std::size_t size) {
    std::lock_guard lock(mutex_);
    Region& region = regions_[begin];
    region.size = size;
    region.pages.clear();
    region.pages.resize((size + page - 1) / page);
}

void Unwritten::remove(std::uintptr_t begin) {
    std::lock_guard lock(mutex_);
    regions_.erase(begin);
}

Unwritten::Regions::const_iterator Unwritten::around(std::uintptr_t address) const {
    const auto after = regions_.upper_bound(address);
    if (after == regions_.begin()) return regions_.end();
    const auto it = std::prev(after);
    return address - it->first < it->second.size ? it : regions_.end();
}

void Unwritten::wrote(std::uintptr_t address, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    const auto it = around(address);
    if (it == regions_.end()) return;
    Region& region = regions_.at(it->first);
    const std::size_t from = address - it->first, to = std::min(region.size, from + bytes);
    for (std::size_t at = from; at < to;) {
        const std::size_t end = std::min(to, (at / page + 1) * page);
        std::unique_ptr<Page>& bits = region.pages[at / page];
        if (!bits) bits = std::make_unique<Page>();
        if (end - at == page)
            bits->set();
        else
            for (std::size_t n = at; n < end; ++n) bits->set(n % page);
        at = end;
    }
}

Unwritten::Place Unwritten::first(std::uintptr_t address, std::size_t bytes) const {
    std::lock_guard lock(mutex_);
    const auto it = around(address);
    if (it == regions_.end()) return {};
    const Region& region = it->second;
    const std::size_t from = address - it->first, to = std::min(region.size, from + bytes);
    for (std::size_t at = from; at < to; ++at) {
        const std::unique_ptr<Page>& bits = region.pages[at / page];
        if (!bits || !bits->test(at % page)) return {it->first + at, it->first, region.size};
    }
    return {};
}

}  // namespace cupola::cpu::sanitizer
