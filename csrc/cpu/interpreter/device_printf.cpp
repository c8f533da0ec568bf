// csrc/cpu/interpreter/device_printf.cpp - printf and assert of device code.
//
// Every read of device memory is checked.
#include "cpu/interpreter/device_printf.hpp"

#include <cstdio>
#include <cstring>
#include <string>

namespace cupola::cpu::interpreter {
namespace {

constexpr std::size_t longest = 1 << 20;  // bytes of one string

class Reader {
  public:
    Reader(BlockState& block, const Warp& w, unsigned lane) : block_(block), w_(w), lane_(lane) {}

    bool string(std::uint64_t address, std::string& out) {
        std::uintptr_t at = address;
        out.clear();
        for (;;) {
            const std::uintptr_t end = block_.readable_until(w_, lane_, at);
            if (end == 0) return refuse(at);
            for (; at != end; ++at) {
                const char c = *reinterpret_cast<const volatile char*>(at);
                if (c == '\0') return true;
                if (out.size() == longest) return refuse(at);
                out.push_back(c);
            }
        }
    }

    // Reads the next argument of a buffer in which arguments have their natural alignment.
    template <class T>
    bool argument(std::uint64_t& at, T& value) {
        at = (at + sizeof(T) - 1) & ~std::uint64_t{sizeof(T) - 1};
        const std::uintptr_t end = block_.readable_until(w_, lane_, at);
        if (end == 0 || end - at < sizeof(T)) return refuse(at);
        std::memcpy(&value, reinterpret_cast<const void*>(at), sizeof(T));
        at += sizeof(T);
        return true;
    }

    std::uint64_t refused() const { return refused_; }

  private:
    bool refuse(std::uint64_t address) {
        refused_ = address;
        return false;
    }
    BlockState& block_;
    const Warp& w_;
    unsigned lane_;
    std::uint64_t refused_ = 0;
};

struct Conversion {
    std::string flags;  // with width and precision, without length
    unsigned length = 4;
    char kind = 0;
    std::size_t stars = 0;
};

// Parses a conversion after '%'. kind 0: not a conversion of printf.
Conversion read_conversion(const std::string& f, std::size_t& i) {
    Conversion c;
    const auto at = [&] { return i < f.size() ? f[i] : '\0'; };
    while (std::strchr("-+ #0", at()) && at() != '\0') c.flags += f[i++];
    const auto number = [&] {
        if (at() == '*') {
            c.flags += f[i++];
            ++c.stars;
            return;
        }
        std::size_t digits = 0;
        while (at() >= '0' && at() <= '9') {
            // Limits the width: a hostile width would allocate memory.
            if (digits++ < 4) c.flags += f[i];
            ++i;
        }
    };
    number();
    if (at() == '.') {
        c.flags += f[i++];
        number();
    }
    for (; std::strchr("hljztL", at()) && at() != '\0'; ++i)
        if (at() == 'l' || at() == 'j' || at() == 'z' || at() == 't') c.length = 8;
    if (at() != '\0' && std::strchr("diouxXeEfFgGaAcsp", at())) c.kind = f[i++];
    return c;
}

template <class... A>
void append(std::string& out, const std::string& format, A... a) {
    const int size = std::snprintf(nullptr, 0, format.c_str(), a...);
    if (size <= 0) return;
    const std::size_t from = out.size();
    out.resize(from + static_cast<std::size_t>(size) + 1);
    std::snprintf(&out[from], static_cast<std::size_t>(size) + 1, format.c_str(), a...);
    out.resize(from + static_cast<std::size_t>(size));
}

bool fill_stars(Reader& reader, std::uint64_t& at, Conversion& c) {
    for (; c.stars > 0; --c.stars) {
        std::int32_t width = 0;
        if (!reader.argument(at, width)) return false;
        width = width > 9999 ? 9999 : width < -9999 ? -9999 : width;
        const std::size_t star = c.flags.find('*');
        if (width < 0 && star > 0 && c.flags[star - 1] == '.')
            c.flags.erase(star - 1, 2);  // a negative precision counts as missing
        else
            c.flags.replace(star, 1, std::to_string(width));
    }
    return true;
}

bool convert(Reader& reader, std::uint64_t& at, Conversion& c, std::string& out) {
    if (!fill_stars(reader, at, c)) return false;
    const std::string head = "%" + c.flags;
    switch (c.kind) {
        case 'd':
        case 'i':
        case 'o':
        case 'u':
        case 'x':
        case 'X':
            if (c.length == 8) {
                long long value = 0;
                if (!reader.argument(at, value)) return false;
                append(out, head + "ll" + c.kind, value);
            } else {
                int value = 0;
                if (!reader.argument(at, value)) return false;
                append(out, head + c.kind, value);
            }
            return true;
        case 'c': {
            int value = 0;
            if (!reader.argument(at, value)) return false;
            append(out, head + c.kind, value);
            return true;
        }
        case 's': {
            std::uint64_t address = 0;
            std::string text = "(null)";
            if (!reader.argument(at, address)) return false;
            if (address != 0 && !reader.string(address, text)) return false;
            append(out, head + c.kind, text.c_str());
            return true;
        }
        case 'p': {
            std::uint64_t value = 0;
            if (!reader.argument(at, value)) return false;
            append(out, head + c.kind, reinterpret_cast<void*>(value));
            return true;
        }
        default: {
            double value = 0;
            if (!reader.argument(at, value)) return false;
            append(out, head + c.kind, value);
            return true;
        }
    }
}

}  // namespace

bool print_formatted(BlockState& block, Warp& w, const DecodedOp* ip, unsigned lane,
                     std::uint64_t format, std::uint64_t arguments, std::int32_t& written) {
    Reader reader(block, w, lane);
    std::string text, out;
    const auto refused = [&] {
        block.fault(w, ip, Fault::Kind::illegal_address, lane, "printf", reader.refused());
        return false;
    };
    if (!reader.string(format, text)) return refused();
    written = 0;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] != '%') {
            out += text[i++];
            continue;
        }
        const std::size_t from = i++;
        if (i < text.size() && text[i] == '%') {
            out += text[i++];
            continue;
        }
        Conversion c = read_conversion(text, i);
        if (c.kind == 0) {
            out.append(text, from, i - from);
            continue;
        }
        if (!convert(reader, arguments, c, out)) return refused();
        ++written;
    }
    if (block.launch().print) block.launch().print(out);
    return true;
}

void report_assertion(BlockState& block, Warp& w, const DecodedOp* ip, unsigned lane,
                      const std::byte* frame, const CallSite& site) {
    Reader reader(block, w, lane);
    std::string part[3];
    std::uint32_t line = 0;
    const std::size_t index[3] = {0, 1, 3};
    for (std::size_t n = 0; n < 3; ++n) {
        std::uint64_t address = 0;
        std::memcpy(&address, frame + site.arguments[index[n]].from, 8);
        if (!reader.string(address, part[n])) part[n] = "?";
        part[n] = part[n].substr(0, 1000);
    }
    std::memcpy(&line, frame + site.arguments[2].from, 4);
    block.fault_text(w, ip, Fault::Kind::assertion, lane,
                     part[1] + ":" + std::to_string(line) + ": " + part[2] + ": Assertion `" +
                         part[0] + "` failed.");
    block.describe_assertion(w, lane, part[1] + "\n" + std::to_string(line) + "\n" + part[2],
                             part[0]);
}

}  // namespace cupola::cpu::interpreter
