// csrc/runtime/abi/image.cpp - the functions of cupola/image.h.
#include "cupola/image.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "image/choice.hpp"
#include "image/cubin.hpp"
#include "ptx/error.hpp"
#include "ptx/inlined_names.hpp"
#include "ptx/line_table.hpp"
#include "ptx/requirement.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/object.hpp"
#include "runtime/module/lower.hpp"
#include "runtime/module/pack.hpp"
#include "runtime/module/parameter.hpp"
#include "runtime/module/undefined.hpp"

using namespace cupola;

struct cupola_image : Object {
    std::uint32_t kind = CUPOLA_IMAGE_OTHER;
    std::size_t fatbins = 0, texts = 0;
    std::vector<cupola_image_entry> entries;
    std::vector<image::Entry> read;    // the same, decompressed
    std::deque<std::string> unpacked;  // bytes of compressed entries
};

struct cupola_code : Object {
    std::vector<cupola_code_kernel> kernels;
    std::deque<std::string> names;
    std::deque<std::vector<cupola_code_parameter>> parameters;
};

struct cupola_lines : Object {
    std::optional<ptx::LineTable> table;
    std::vector<std::string> names;
    std::vector<cupola_lines_place> places;
    std::vector<cupola_lines_call> calls;
    std::vector<const char*> files;
};

namespace cupola {
namespace {

std::uint32_t code_of(image::Kind kind) {
    switch (kind) {
        case image::Kind::ptx:
            return CUPOLA_IMAGE_PTX;
        case image::Kind::cubin:
            return CUPOLA_IMAGE_CUBIN;
        case image::Kind::fatbin:
            return CUPOLA_IMAGE_FATBIN;
        case image::Kind::other:
            break;
    }
    return CUPOLA_IMAGE_OTHER;
}

cupola_image_entry decompressed(cupola_image& image, image::Entry entry) {
    cupola_image_entry out{};
    out.kind = code_of(entry.kind);
    out.number = entry.number;
    out.architecture = static_cast<std::uint32_t>(entry.architecture);
    std::string_view bytes = entry.payload;
    if (entry.compressed) {
        bytes = image.unpacked.emplace_back(image::unpack(entry));
        entry.compressed = false;
    }
    if (entry.kind == image::Kind::ptx) {
        bytes = bytes.substr(0, bytes.find('\0'));
        out.version = image::heading(bytes).value_or(image::Heading()).version;
    }
    out.bytes = bytes.data();
    out.size = bytes.size();
    out.variant = static_cast<std::uint32_t>(entry.variant);
    entry.payload = bytes;
    image.read.push_back(entry);
    return out;
}

// The entry that a device takes first, or the reason why it takes none.
const image::Entry* choose(const cupola_image& image, const image::Taker& taker,
                           std::string& reason) {
    reason.clear();
    const std::vector<image::Candidate> found = image::candidates(image.read, taker);
    if (!found.empty() && found.front().fit != image::Fit::newer_ptx) {
        reason = found.front().reason;
        return found.front().entry;
    }
    for (const image::Entry& entry : image.read)
        reason += (reason.empty() ? "" : "; ") + image::judge(entry, taker).reason;
    return nullptr;
}

// A host's ELF file is a library or program; `image::read` refuses it.
void read_entries(cupola_image& image, std::string_view bytes) {
    const std::optional<image::Kind> kind = image::detect_kind(bytes.data(), bytes.size());
    std::vector<image::Entry> entries;
    if (kind == image::Kind::cubin && !image::is_cubin(bytes)) {
        image::Embedded found = image::find_images(bytes);
        image.kind = CUPOLA_IMAGE_LIBRARY;
        image.fatbins = found.fatbins;
        image.texts = found.texts;
        entries = std::move(found.entries);
    } else {
        entries = image::read(bytes.data(), bytes.size());
        image.kind = code_of(*kind);
    }
    for (const image::Entry& entry : entries) image.entries.push_back(decompressed(image, entry));
}

void add_kernel(cupola_code& code, std::string name, std::vector<cupola_code_parameter> parameters,
                cupola_code_kernel kernel) {
    code.names.push_back(std::move(name));
    code.parameters.push_back(std::move(parameters));
    kernel.name = code.names.back().c_str();
    kernel.parameters = code.parameters.back().data();
    kernel.parameter_count = code.parameters.back().size();
    code.kernels.push_back(kernel);
}

void read_kernels(cupola_code& code, std::string_view bytes) {
    std::vector<cupola_code_parameter> parameters;
    cupola_code_kernel out{};
    if (image::detect_kind(bytes.data(), bytes.size()) == image::Kind::ptx) {
        for (PtxKernel& kernel : kernels_of(bytes)) {
            parameters.clear();
            for (const Parameter& each : kernel.parameters)
                parameters.push_back({each.offset, each.size, each.kind});
            out.known = kernel.known;
            add_kernel(code, std::move(kernel.name), parameters, out);
        }
        return;
    }
    for (image::Cubin::Kernel& kernel : image::Cubin(bytes).kernels()) {
        parameters.clear();
        for (const auto& each : kernel.parameters)
            parameters.push_back({each.offset, each.size, kinds_of_size(each.size)});
        out.known = 1;
        out.registers = kernel.registers;
        out.shared = kernel.shared;
        out.constant = kernel.constant;
        out.local = kernel.local;
        add_kernel(code, std::move(kernel.name), parameters, out);
    }
}

void read_lines(cupola_lines& lines, std::string_view text) {
    const ptx::LineTable& table = lines.table.emplace(text);
    const auto count = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n'));
    lines.places.assign(1, {UINT32_MAX, 0, 0, 0});
    for (std::uint32_t line = 1; line <= count + 1; ++line) {
        const ptx::LineTable::Place* const place = table.at(line);
        lines.places.push_back(
            place ? cupola_lines_place{place->file, place->line, place->column, place->scope}
                  : lines.places[0]);
    }
    lines.names = ptx::inlined_names(text, table);
    for (std::size_t n = 0; n < lines.names.size(); ++n) {
        const ptx::LineTable::Scope& call = table.scopes()[n];
        lines.calls.push_back(
            {call.parent, call.file, call.line, call.column, lines.names[n].c_str()});
    }
    for (const std::string& file : table.files()) lines.files.push_back(file.c_str());
}

// Makes an object of the bytes by `read`.
template <class T, class F>
int read_bytes(const void* bytes, std::size_t size, T** out, F read) {
    return guard([&] {
        check_not_null(out, "out");
        check_not_null(bytes, "bytes");
        Ref<T> made = make<T>();
        try {
            read(*made, std::string_view(static_cast<const char*>(bytes), size));
        } catch (const image::Error& error) {
            fail(CUPOLA_ERROR_IMAGE, error.what());
        }
        *out = made.detach();
    });
}

template <class T>
void list(const std::vector<T>& from, const T** out, std::size_t* count) {
    *check_not_null(count, "count") = from.size();
    *check_not_null(out, "out") = from.data();
}

}  // namespace
}  // namespace cupola

int cupola_image_read(const void* bytes, size_t size, cupola_image** out) {
    return read_bytes(bytes, size, out, read_entries);
}

int cupola_image_kind_of(const cupola_image* image, uint32_t* kind) {
    return guard([&] { *check_not_null(kind, "kind") = check_not_null(image, "image")->kind; });
}

int cupola_image_embedded(const cupola_image* image, size_t* fatbins, size_t* texts) {
    return guard([&] {
        *check_not_null(fatbins, "fatbins") = check_not_null(image, "image")->fatbins;
        *check_not_null(texts, "texts") = image->texts;
    });
}

int cupola_image_entries(const cupola_image* image, const cupola_image_entry** entries,
                         size_t* count) {
    return guard([&] { list(check_not_null(image, "image")->entries, entries, count); });
}

int cupola_image_choose(const cupola_image* image, uint32_t capability, uint32_t ptx,
                        uint32_t machine_code, size_t* index, const char** reason) {
    return guard([&] {
        thread_local std::string text;
        check_not_null(index, "index");
        check_not_null(reason, "reason");
        const std::vector<image::Entry>& entries = check_not_null(image, "image")->read;
        const image::Entry* found =
            choose(*image,
                   {static_cast<int>(capability), ptx, machine_code != 0, machine_code == 2}, text);
        *index = found ? static_cast<std::size_t>(found - entries.data()) : SIZE_MAX;
        *reason = text.c_str();
    });
}

int cupola_image_pack(const void* bytes, size_t size, int level,
                      void (*take)(void* owner, const void* image, size_t size), void* owner) {
    return guard([&] {
        check_not_null(take, "take");
        const std::string packed =
            pack({check_not_null(static_cast<const char*>(bytes), "bytes"), size}, level);
        take(owner, packed.data(), packed.size());
    });
}

int cupola_image_lower(const void* bytes, size_t size,
                       void (*take)(void* owner, const void* image, size_t size), void* owner) {
    return guard([&] {
        check_not_null(take, "take");
        const std::string lowered =
            lower({check_not_null(static_cast<const char*>(bytes), "bytes"), size});
        take(owner, lowered.data(), lowered.size());
    });
}

void cupola_image_retain(cupola_image* image) {
    if (image) image->retain();
}
void cupola_image_release(cupola_image* image) {
    if (image) image->release();
}

int cupola_code_read(const void* bytes, size_t size, cupola_code** out) {
    return read_bytes(bytes, size, out, read_kernels);
}

int cupola_code_kernels(const cupola_code* code, const cupola_code_kernel** kernels,
                        size_t* count) {
    return guard([&] { list(check_not_null(code, "code")->kernels, kernels, count); });
}

void cupola_code_retain(cupola_code* code) {
    if (code) code->retain();
}
void cupola_code_release(cupola_code* code) {
    if (code) code->release();
}

int cupola_lines_read(const void* text, size_t size, cupola_lines** out) {
    return read_bytes(text, size, out, read_lines);
}

int cupola_lines_places(const cupola_lines* lines, const cupola_lines_place** places,
                        size_t* count) {
    return guard([&] { list(check_not_null(lines, "lines")->places, places, count); });
}

int cupola_lines_calls(const cupola_lines* lines, const cupola_lines_call** calls, size_t* count) {
    return guard([&] { list(check_not_null(lines, "lines")->calls, calls, count); });
}

int cupola_lines_files(const cupola_lines* lines, const char* const** files, size_t* count) {
    return guard([&] { list(check_not_null(lines, "lines")->files, files, count); });
}

void cupola_lines_retain(cupola_lines* lines) {
    if (lines) lines->retain();
}
void cupola_lines_release(cupola_lines* lines) {
    if (lines) lines->release();
}

int cupola_ptx_version_of(const char* text, size_t size, cupola_ptx_version* out) {
    return guard([&] {
        thread_local ptx::Requirement found;
        thread_local std::string cuda;
        check_not_null(out, "out");
        try {
            found = ptx::required_version({check_not_null(text, "text"), size});
        } catch (const ptx::Error& error) {
            fail(CUPOLA_ERROR_IMAGE, std::string("PTX: ") + error.what());
        }
        cuda = image::cuda_of_ptx(found.version);
        *out = {found.written,      found.version,          found.known, found.line,
                found.what.c_str(), found.function.c_str(), cuda.c_str()};
    });
}

const char* cupola_image_undefined(const char* log) {
    thread_local std::string text;
    const int status = guard([&] { text = undefined_symbols(check_not_null(log, "log")); });
    return status == CUPOLA_SUCCESS ? text.c_str() : "";
}
