// csrc/runtime/module/lower.cpp - replaces the versions of PTX texts by the lowest ones.
#include "runtime/module/lower.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "image/bytes.hpp"
#include "image/cubin.hpp"
#include "image/image.hpp"
#include "ptx/error.hpp"
#include "ptx/requirement.hpp"
#include "runtime/base/error.hpp"

namespace cupola {
namespace {

// The offset of PTX's version in the header of a fatbin's entry: 16 bits of minor number, then 16
// bits of major number.
constexpr std::size_t version_in_header = 24;

void lower_entry(std::string_view bytes, const image::Entry& entry, std::string& out) {
    if (entry.compressed)
        fail(CUPOLA_ERROR_IMAGE,
             "the compiler made a compressed image: remove its options for compression");
    const ptx::Requirement found = ptx::required_version(entry.payload);
    const image::Heading heading = image::heading(entry.payload).value_or(image::Heading());
    if (found.version >= found.written || heading.number.empty()) return;
    std::string number =
        std::to_string(found.version / 10) + "." + std::to_string(found.version % 10);
    number.resize(heading.number.size(), ' ');
    const auto offset = [&](const char* part) {
        return static_cast<std::size_t>(part - bytes.data());
    };
    out.replace(offset(heading.number.data()), number.size(), number);
    if (entry.header.empty()) return;
    const std::size_t at = offset(entry.header.data()) + version_in_header;
    image::put(out, at, static_cast<std::uint16_t>(found.version % 10));
    image::put(out, at + 2, static_cast<std::uint16_t>(found.version / 10));
}

// An ELF file of a host is an object, a library or a program, with fatbins inside.
std::vector<image::Entry> entries_within(std::string_view bytes) {
    const auto kind = image::detect_kind(bytes.data(), bytes.size());
    if (kind == image::Kind::cubin && !image::is_cubin(bytes))
        return image::find_images(bytes).entries;
    return image::read(bytes.data(), bytes.size());
}

}  // namespace

std::string lower(std::string_view bytes) {
    std::string out(bytes);
    try {
        for (const image::Entry& entry : entries_within(bytes))
            if (entry.kind == image::Kind::ptx) lower_entry(bytes, entry, out);
    } catch (const image::Error& error) {
        fail(CUPOLA_ERROR_IMAGE, error.what());
    } catch (const ptx::Error& error) {
        fail(CUPOLA_ERROR_IMAGE, std::string("PTX: ") + error.what());
    }
    return out;
}

}  // namespace cupola
