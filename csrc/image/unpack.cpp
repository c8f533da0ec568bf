// csrc/image/unpack.cpp - decompresses entries of fatbins: LZ4 blocks, and zstd by libzstd.
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>

#include "image/image.hpp"

namespace cupola::image {
namespace {

// Limits of the size in an entry's header, against forged headers: the ratios to the compressed
// size (LZ4's format allows 255; zstd's ratio for real text is far below 1024), and the bytes.
constexpr std::uint64_t max_lz4 = 255, max_zstd = 1024, max_bytes = std::uint64_t{1} << 30;

[[noreturn]] void damaged() { throw Error("its compressed bytes are damaged"); }

// A block of LZ4: literals and matches alternate; bytes of 255 extend a length.
class Block {
  public:
    Block(std::string_view bytes, std::string& out) : bytes_(bytes), out_(out) {}

    void run(std::size_t size) {
        for (;;) {
            const unsigned token = next();
            const std::size_t literals = length(token >> 4);
            if (literals > bytes_.size() - at_ || literals > size - out_.size()) damaged();
            out_.append(bytes_, at_, literals);
            at_ += literals;
            if (at_ == bytes_.size()) return;
            const std::size_t low = next(), back = low | std::size_t{next()} << 8;
            const std::size_t match = length(token & 15) + 4;
            if (back == 0 || back > out_.size() || match > size - out_.size()) damaged();
            // A match may overlap its own output, so it is copied byte by byte.
            for (std::size_t i = 0; i < match; ++i) out_.push_back(out_[out_.size() - back]);
        }
    }

  private:
    unsigned next() {
        if (at_ == bytes_.size()) damaged();
        return static_cast<unsigned char>(bytes_[at_++]);
    }
    std::size_t length(std::size_t first) {
        if (first < 15) return first;
        for (unsigned more = 255; more == 255; first += more) more = next();
        return first;
    }

    const std::string_view bytes_;
    std::string& out_;
    std::size_t at_ = 0;
};

// The functions of libzstd.so.1 that are needed; its ABI is stable.
struct Zstd {
    struct In {
        const void* data;
        std::size_t size, at;
    };
    struct Out {
        void* data;
        std::size_t size, at;
    };
    static constexpr int window_log_max = 100;  // ZSTD_d_windowLogMax

    void* (*create)();
    std::size_t (*free)(void* context);
    std::size_t (*set)(void* context, int parameter, int value);
    std::size_t (*decompress)(void* context, Out* out, In* in);
    unsigned (*is_error)(std::size_t code);
};

template <class F>
bool find(void* library, const char* name, F*& function) {
    function = reinterpret_cast<F*>(dlsym(library, name));
    return function != nullptr;
}

const Zstd& zstd() {
    static const auto functions = []() -> std::optional<Zstd> {
        Zstd found{};
        void* const library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library || !find(library, "ZSTD_createDCtx", found.create) ||
            !find(library, "ZSTD_freeDCtx", found.free) ||
            !find(library, "ZSTD_DCtx_setParameter", found.set) ||
            !find(library, "ZSTD_decompressStream", found.decompress) ||
            !find(library, "ZSTD_isError", found.is_error))
            return std::nullopt;
        return found;
    }();
    if (!functions)
        throw Unsupported(
            "it is compressed with zstd, and libzstd.so.1 is not on this machine; install it, or "
            "build with nvcc -no-compress");
    return *functions;
}

// The output grows as it is decoded, so a forged size costs no memory.
void unpack_zstd(std::string_view bytes, std::size_t size, std::string& out) {
    const Zstd& library = zstd();
    const std::unique_ptr<void, std::size_t (*)(void*)> context(library.create(), library.free);
    if (!context) throw std::bad_alloc();
    // A frame's window may be as large as the text; the library's default limit is 2^27.
    int window = 27;
    while (size >> window) ++window;
    if (library.is_error(library.set(context.get(), Zstd::window_log_max, window))) damaged();
    Zstd::In in{bytes.data(), bytes.size(), 0};
    std::size_t made = 0;
    // One extra byte of room detects a payload that is longer than its header says.
    for (std::size_t left = 1; left != 0 && made <= size;) {
        if (made == out.size())
            out.resize(std::min(size + 1, std::max<std::size_t>(2 * made, 64 << 10)));
        const std::size_t before = in.at;
        Zstd::Out room{out.data(), out.size(), made};
        left = library.decompress(context.get(), &room, &in);
        if (library.is_error(left) || (room.at == made && in.at == before)) damaged();
        made = room.at;
    }
    out.resize(made);
}

}  // namespace

std::string unpack(const Entry& entry) {
    const bool zstd = entry.packing == Entry::Packing::zstd;
    const auto payload = std::max<std::uint64_t>(entry.payload.size(), 64);
    if (entry.unpacked > max_bytes || entry.unpacked > payload * (zstd ? max_zstd : max_lz4))
        throw Error("its header gives an impossible unpacked size of " +
                    std::to_string(entry.unpacked) + " bytes");
    const auto size = static_cast<std::size_t>(entry.unpacked);
    std::string out;
    if (zstd) {
        unpack_zstd(entry.payload, size, out);
    } else {
        out.reserve(size);
        Block(entry.payload, out).run(size);
    }
    if (out.size() != size) damaged();
    return out;
}

}  // namespace cupola::image
