// csrc/image/embedded.cpp - finds fatbins and PTX texts within the bytes of a library or program.
#include <cstring>
#include <utility>

#include "image/image.hpp"
#include "image/packed.hpp"

namespace cupola::image {
namespace {

// string_view::find compares byte by byte after each first byte that is equal.
std::size_t find(std::string_view bytes, std::string_view wanted, std::size_t from) {
    if (from >= bytes.size()) return std::string_view::npos;
    const void* found =
        memmem(bytes.data() + from, bytes.size() - from, wanted.data(), wanted.size());
    return found ? static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data())
                 : std::string_view::npos;
}

}  // namespace

Embedded find_images(std::string_view library) {
    Embedded found;
    constexpr std::string_view magic("\x50\xed\x55\xba", 4);
    std::vector<std::pair<std::size_t, std::size_t>> fatbins;  // begin and end of each fatbin
    // The magic number may occur elsewhere by chance. In a packed fatbin the index has it.
    for (std::size_t at = 0; (at = find(library, magic, at)) != std::string_view::npos;) {
        std::string_view image = library.substr(at);
        std::vector<Entry> entries;
        try {
            if (at >= before_header && is_packed(library.substr(at - before_header))) {
                image = library.substr(at - before_header);
                image = image.substr(0, packed_size(image));
            }
            entries = read(image.data(), image.size());
        } catch (const Error&) {
        }
        if (entries.empty()) {
            at += magic.size();
            continue;
        }
        found.entries.insert(found.entries.end(), entries.begin(), entries.end());
        const auto begin = static_cast<std::size_t>(image.data() - library.data());
        const std::size_t size = is_packed(image) ? image.size() : size_of(image.data());
        fatbins.emplace_back(begin, begin + size);
        at = fatbins.back().second;
    }
    found.fatbins = fatbins.size();
    auto next = fatbins.begin();
    for (std::size_t at = 0; (at = find(library, ".version", at)) != std::string_view::npos;) {
        while (next != fatbins.end() && next->second <= at) ++next;
        std::string_view text = library.substr(at);
        text = text.substr(0, text.find('\0'));
        if (next != fatbins.end() && next->first <= at) {
            at = next->second;
        } else if (heading(text)) {
            const std::vector<Entry> entries = read(text.data(), text.size());
            found.entries.insert(found.entries.end(), entries.begin(), entries.end());
            ++found.texts;
            at += text.size();
        } else {
            ++at;
        }
    }
    return found;
}

}  // namespace cupola::image
