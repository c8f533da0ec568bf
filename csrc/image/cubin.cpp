// csrc/image/cubin.cpp - reads the sections, symbols and attributes of CUDA's ELF files.
#include "image/cubin.hpp"

#include <algorithm>
#include <map>

#include "image/bytes.hpp"

namespace cupola::image {
namespace {

constexpr std::uint16_t machine_cuda = 190;
constexpr std::uint64_t section_header = 64, symbol_size = 24;
constexpr std::uint32_t no_bits = 8, symbol_table = 2;

// Attributes in .nv.info sections. The stack of a function with all functions that it calls is
// there where the linker knows them.
enum : std::uint8_t {
    frame_size = 0x11,
    stack_size = 0x12,
    kernel_parameter = 0x17,
    register_count = 0x2f,
};

// Since sm_90 a kernel's shared memory starts with bytes reserved by the system; a section of this
// name has their size. The driver and ptxas do not count them.
constexpr std::string_view reserved_section = ".nv.shared.reserved.0";
constexpr std::uint64_t reserved_shared = 1024;
// The flag of an architecture-specific target such as sm_90a, in ABI versions before 8.
constexpr std::uint32_t suffix_flag = 0x800;

// Whether a section has a size but no bytes in the file. In relocatable code global, local and
// shared memory have types of their own.
bool is_without_bytes(std::uint32_t type) {
    constexpr std::uint32_t global = 0x70000007, local = 0x70000009, shared = 0x7000000a;
    return type == no_bits || type == global || type == local || type == shared;
}

std::string_view text_at(std::string_view table, std::uint32_t at) {
    if (at >= table.size())
        throw Error("a name at offset " + std::to_string(at) + " is outside of its table");
    table.remove_prefix(at);
    return table.substr(0, table.find('\0'));
}

// Calls f(attribute, value) for each attribute of a section that has a value of its own.
template <class F>
void each_attribute(const Cubin::Section& section, F f) {
    const Bytes bytes(section.content);
    for (std::uint64_t at = 0; at < bytes.size(); at += 4) {
        constexpr const char* what = "an attribute";
        const auto form = bytes.at<std::uint8_t>(at, what);
        const auto size = bytes.at<std::uint16_t>(at + 2, what);
        if (form == 4) {
            f(bytes.at<std::uint8_t>(at + 1, what), Bytes(bytes.part(at + 4, size, what)));
            at += size;
        } else if (form < 1 || form > 3) {  // in forms 1 to 3 the word itself is the value
            throw Error(std::string(section.name) + ": unknown form " + std::to_string(form) +
                        " at offset " + std::to_string(at));
        }
    }
}

std::vector<Cubin::Parameter> parameters_of(const Cubin::Section& section,
                                            const std::string& kernel) {
    std::map<unsigned, Cubin::Parameter> found;
    each_attribute(section, [&](std::uint8_t attribute, const Bytes& value) {
        if (attribute != kernel_parameter) return;
        constexpr const char* what = "a parameter";
        found[value.at<std::uint16_t>(4, what)] = {value.at<std::uint16_t>(6, what),
                                                   value.at<std::uint32_t>(8, what) >> 18};
    });
    std::vector<Cubin::Parameter> parameters;
    std::uint64_t end = 0;
    for (const auto& [ordinal, parameter] : found) {
        const std::string number = std::to_string(ordinal);
        if (ordinal != parameters.size())
            throw Error(kernel + ": parameter " + number + " follows " +
                        std::to_string(parameters.size()) + " others");
        if (parameter.offset < end || parameter.size == 0)
            throw Error(kernel + ": parameter " + number + " overlaps the one before it");
        end = std::uint64_t{parameter.offset} + parameter.size;
        parameters.push_back(parameter);
    }
    // If a parameter is aligned to more than 16 bytes, ptxas puts the first parameter later in the
    // constant bank. In C and in PTX the first parameter is always at 0.
    const auto first = parameters.empty() ? 0 : parameters[0].offset;
    for (Cubin::Parameter& parameter : parameters) parameter.offset -= first;
    return parameters;
}

}  // namespace

bool is_cubin(std::string_view bytes) {
    constexpr std::string_view magic =
        "\x7f"
        "ELF";
    return bytes.substr(0, 4) == magic && bytes.size() >= 20 &&
           Bytes(bytes).at<std::uint16_t>(18, "the machine") == machine_cuda;
}

Cubin::Cubin(std::string_view bytes) {
    const Bytes elf(bytes);
    elf.part(0, elf_header, "the ELF header");
    if (elf.at<std::uint8_t>(4, "the class") != 2 || elf.at<std::uint8_t>(5, "the order") != 1)
        throw Error("it is not a 64-bit little-endian ELF file");
    if (const auto machine = elf.at<std::uint16_t>(18, "the machine"); machine != machine_cuda)
        throw Error("it is an ELF file, but not code for a CUDA device (machine " +
                    std::to_string(machine) + ")");
    const auto table = [&](int offset, int entry, int count, const char* what) {
        const auto start = elf.at<std::uint64_t>(offset, what);
        const auto size =
            std::uint64_t{elf.at<std::uint16_t>(entry, what)} * elf.at<std::uint16_t>(count, what);
        if (size) elf.part(start, size, what);
        return start;
    };
    table(32, 54, 56, "the table of segments");
    const std::uint64_t start = table(40, 58, 60, "the table of sections");
    const unsigned entry = elf.at<std::uint16_t>(58, "the size of a section's header");
    const unsigned count = elf.at<std::uint16_t>(60, "the number of sections");
    const unsigned titles = elf.at<std::uint16_t>(62, "the section of names");
    if (count && entry < section_header) throw Error("the size of a section's header is below 64");
    if (titles >= std::max(count, 1u)) throw Error("the section of names does not exist");
    // Since toolkit 13 (ABI version 8) the architecture is one byte higher in the flags.
    const auto flags = elf.at<std::uint32_t>(48, "the flags");
    const bool shifted = elf.at<std::uint8_t>(8, "the ABI version") >= 8;
    architecture_ = static_cast<int>(flags >> (shifted ? 8 : 0) & 0xff);
    before_abi_8_ = !shifted;
    if (before_abi_8_ && flags & suffix_flag) suffix_ = 'a';

    std::vector<std::uint32_t> names;
    for (unsigned i = 0; i < count; ++i) {
        const std::uint64_t at = start + std::uint64_t{i} * entry;
        Section section;
        names.push_back(elf.at<std::uint32_t>(at, "a section's name"));
        section.type = elf.at<std::uint32_t>(at + 4, "a section's type");
        section.size = elf.at<std::uint64_t>(at + 32, "a section's size");
        section.link = elf.at<std::uint32_t>(at + 40, "a section's link");
        if (!is_without_bytes(section.type))
            section.content = elf.part(elf.at<std::uint64_t>(at + 24, "a section's offset"),
                                       section.size, "a section");
        sections_.push_back(section);
    }
    for (unsigned i = 0; i < count; ++i)
        if (const std::string_view table = sections_[titles].content; names[i] < table.size())
            sections_[i].name = text_at(table, names[i]);
}

const Cubin::Section* Cubin::find(std::string_view name) const {
    for (const Section& section : sections_)
        if (section.name == name) return &section;
    return nullptr;
}

char Cubin::variant() const {
    const Section* const note = find(".note.nv.tkinfo");
    if (!note) return suffix_;
    const std::string target = "-arch sm_" + std::to_string(architecture_);
    const std::size_t at = note->content.find(target);
    if (at == std::string_view::npos || at + target.size() >= note->content.size()) return suffix_;
    const char suffix = note->content[at + target.size()];
    return suffix == 'a' || suffix == 'f' ? suffix : '\0';
}

std::vector<std::string> Cubin::variables() const {
    constexpr unsigned object = 1;
    std::vector<std::string> names;
    for (const Section& table : sections_) {
        if (table.type != symbol_table) continue;
        if (table.link >= sections_.size()) throw Error("a section does not exist");
        const Bytes symbols(table.content);
        for (std::uint64_t at = 0; at + symbol_size <= symbols.size(); at += symbol_size) {
            const unsigned where = symbols.at<std::uint16_t>(at + 6, "a symbol's section");
            if ((symbols.at<std::uint8_t>(at + 4, "a symbol's type") & 15) != object ||
                where >= sections_.size())
                continue;
            const std::string_view home = sections_[where].name;
            if (home.substr(0, 10) == ".nv.global" || home == ".nv.constant3")
                names.emplace_back(text_at(sections_[table.link].content,
                                           symbols.at<std::uint32_t>(at, "a symbol's name")));
        }
    }
    return names;
}

std::vector<std::pair<std::uint32_t, std::string>> Cubin::kernel_names() const {
    constexpr std::uint8_t cuda_entry = 0x10;  // bit of st_other: the function is a kernel
    std::vector<std::pair<std::uint32_t, std::string>> names;
    const Section* table = find(".symtab");
    if (!table) return names;
    if (table->link >= sections_.size())
        throw Error("the symbol table's table of names does not exist");
    const Bytes symbols(table->content);
    for (std::uint32_t i = 0; (i + std::uint64_t{1}) * symbol_size <= symbols.size(); ++i) {
        const std::uint64_t at = i * symbol_size;
        if (symbols.at<std::uint8_t>(at + 5, "a symbol") & cuda_entry)
            names.emplace_back(i, text_at(sections_[table->link].content,
                                          symbols.at<std::uint32_t>(at, "a symbol's name")));
    }
    return names;
}

std::vector<Cubin::Kernel> Cubin::kernels() const {
    std::map<std::string_view, const Section*> by_name;
    for (const Section& section : sections_) by_name.emplace(section.name, &section);
    const auto section = [&](const std::string& name) {
        const auto found = by_name.find(name);
        return found == by_name.end() ? nullptr : found->second;
    };
    // ptxas of CUDA 12.4 and older reserves these bytes of shared memory, but writes no section.
    const bool reserves = by_name.count(reserved_section) || (before_abi_8_ && architecture_ >= 90);
    const std::uint64_t reserved = reserves ? reserved_shared : 0;
    const Section* constants = section(".nv.constant3");

    const auto names = kernel_names();
    std::map<std::string_view, Kernel> found;
    std::map<std::uint32_t, Kernel*> by_symbol;
    for (const auto& [symbol, name] : names) {
        Kernel& kernel = found[name];
        by_symbol[symbol] = &kernel;
        kernel.name = name;
        kernel.constant = constants ? constants->size : 0;
        if (const Section* shared = section(".nv.shared." + name)) {
            if (shared->size < reserved)
                throw Error(name + ": shared memory is smaller than the bytes reserved in it");
            kernel.shared = shared->size - reserved;
        }
        if (const Section* info = section(".nv.info." + name))
            kernel.parameters = parameters_of(*info, name);
    }
    if (const Section* info = section(".nv.info"))
        each_attribute(*info, [&](std::uint8_t attribute, const Bytes& value) {
            if (attribute != register_count && attribute != frame_size && attribute != stack_size)
                return;
            const auto kernel = by_symbol.find(value.at<std::uint32_t>(0, "a function's symbol"));
            const auto number = value.at<std::uint32_t>(4, "a function's attribute");
            if (kernel == by_symbol.end()) return;
            if (attribute == register_count)
                kernel->second->registers = number;
            else
                kernel->second->local = std::max<std::uint64_t>(kernel->second->local, number);
        });
    std::vector<Kernel> kernels;
    for (auto& each : found) kernels.push_back(std::move(each.second));
    return kernels;
}

}  // namespace cupola::image
