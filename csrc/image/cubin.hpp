// csrc/image/cubin.hpp - reads machine code of a CUDA device, an ELF file: sections, variables, and
// the layouts and resources of kernels. Bytes are untrusted: every read is within them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "image/error.hpp"

namespace cupola::image {

inline constexpr std::uint64_t elf_header = 64;

// Whether it is an ELF file whose machine is a CUDA device.
bool is_cubin(std::string_view bytes);

class Cubin {
  public:
    struct Section {
        std::string_view name;
        std::uint32_t type = 0, link = 0;
        std::uint64_t size = 0;
        std::string_view content;  // empty where the file has no bytes for it
    };
    struct Parameter {
        std::uint32_t offset = 0, size = 0;  // bytes
        bool operator==(const Parameter& other) const {
            return offset == other.offset && size == other.size;
        }
    };
    // Bytes, but for the registers. `local` is a thread's stack: the kernel's frame and those of
    // the functions that it calls.
    struct Kernel {
        std::string name;
        std::vector<Parameter> parameters;
        std::uint64_t registers = 0, shared = 0, local = 0, constant = 0;
    };

    // Checks that the tables are within the bytes, which must outlive it. Throws Error.
    explicit Cubin(std::string_view bytes);

    int architecture() const { return architecture_; }  // 75 for sm_75
    // 'a' or 'f', if the note with the assembler's options or the flags of ABI version 7 name such
    // a target; else 0.
    char variant() const;
    const std::vector<Section>& sections() const { return sections_; }

    // Names of the device variables in symbol tables; none if there is no table. Throws Error.
    std::vector<std::string> variables() const;

    // All kernels, by name. Throws Error.
    std::vector<Kernel> kernels() const;

  private:
    const Section* find(std::string_view name) const;
    // Names of kernels, by the index of their symbol.
    std::vector<std::pair<std::uint32_t, std::string>> kernel_names() const;

    int architecture_ = 0;
    bool before_abi_8_ = false;  // made by CUDA 11 or 12 for sm_90 or older
    char suffix_ = 0;            // the suffix in the flags; 0: none
    std::vector<Section> sections_;
};

}  // namespace cupola::image
