// csrc/cpu/sanitizer/races.cpp - compares each access with earlier ones.
#include "cpu/sanitizer/races.hpp"

#include <algorithm>
#include <cstring>

namespace cupola::cpu::sanitizer {

Races::Cell& Races::cell(std::uintptr_t address) {
    constexpr std::uintptr_t bytes = word * words;
    const std::uintptr_t at = address / bytes;
    if (!last_ || at != last_at_) {
        std::unique_ptr<Page>& page = pages_[at];
        if (!page) page = std::make_unique<Page>();
        last_ = page.get();
        last_at_ = at;
    }
    return (*last_)[address % bytes / word];
}

template <class F>
void Races::each_cell(std::uintptr_t address, std::size_t bytes, F f) {
    for (std::size_t done = 0; done < bytes;) {
        const std::uintptr_t at = address + done;
        Cell& whole = cell(at);
        const std::size_t here = std::min(word - at % word, bytes - done);
        if (here != word && !whole.bytes) {
            whole.bytes = std::make_unique<std::array<Cell, word>>();
            for (std::size_t n = 0; n < word; ++n) {
                Cell& part = (*whole.bytes)[n];
                part.plain = whole.plain;
                part.strong = whole.strong;
                part.valued = whole.valued;
                part.value = whole.value >> 8 * n & 0xff;
                part.read[0] = whole.read[0];
                part.read[1] = whole.read[1];
            }
        }
        if (!whole.bytes) {
            f(whole, done, word);
        } else {
            for (std::size_t n = 0; n < here; ++n)
                f((*whole.bytes)[at % word + n], done + n, std::size_t{1});
        }
        done += here;
    }
}

void Races::read(std::uintptr_t address, std::size_t bytes, const Access& now,
                 const Ordered& ordered, const Race& race) {
    each_cell(address, bytes, [&](Cell& cell, std::size_t, std::size_t) {
        if (cell.plain.made && !ordered(cell.plain)) race(cell.plain, true);
        if (cell.strong.made && !cell.strong.atomic && !now.strong && !ordered(cell.strong))
            race(cell.strong, true);
        // Drop an earlier read that is ordered before the current read: order is transitive.
        if (!cell.read[0].made || ordered(cell.read[0]))
            cell.read[0] = now;
        else
            cell.read[1] = now;
    });
}

void Races::write(std::uintptr_t address, std::size_t bytes, const std::byte* value,
                  const Access& now, const Ordered& ordered, const Race& race) {
    each_cell(address, bytes, [&](Cell& cell, std::size_t offset, std::size_t size) {
        std::uint32_t written = 0;
        if (value) std::memcpy(&written, value + offset, size);
        const bool same = value && cell.valued && written == cell.value;
        if (cell.plain.made && !same && !ordered(cell.plain)) race(cell.plain, true);
        if (cell.strong.made && !now.strong && !ordered(cell.strong)) race(cell.strong, true);
        for (Access& read : cell.read) {
            if (read.made && !now.atomic && !(read.strong && now.strong) && !ordered(read))
                race(read, false);
            read.made = false;
        }
        if (now.strong) {
            cell.strong = now;
        } else {
            cell.plain = now;
            cell.value = written;
            cell.valued = value != nullptr;
        }
    });
}

void Races::forget(std::uintptr_t begin, std::size_t size) {
    constexpr std::uintptr_t bytes = word * words;
    const std::uintptr_t end = begin + size;
    auto page = pages_.lower_bound(begin / bytes);
    while (page != pages_.end() && page->first * bytes < end) {
        const std::uintptr_t here = page->first * bytes;
        const std::uintptr_t from = std::max(begin, here), to = std::min(end, here + bytes);
        if (to - from == bytes) {
            page = pages_.erase(page);
            continue;
        }
        for (std::uintptr_t at = from; at < to; at += word)
            (*page->second)[at % bytes / word] = Cell();
        ++page;
    }
    last_ = nullptr;
}

}  // namespace cupola::cpu::sanitizer
