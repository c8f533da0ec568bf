// csrc/cpu/isa/move.cpp - handlers of data movement instructions.
#include "cpu/isa/bits.hpp"
#include "cpu/isa/chapters.hpp"
#include "cpu/isa/memory.hpp"

namespace cupola::cpu::CUPOLA_ISA {

Handler find_move(unsigned row, const Key& key) {
    return ChapterBinding<ptx::table::move
#define FORM(mnemonic, semantics, ...) , semantics
#include "ptx/table/move.inc"
#undef FORM
                          >::find(row, key);
}

Handler find_parameter_load(unsigned bytes) {
    switch (bytes) {
        case 1:
            return LoadParameterAs<std::uint8_t>::handler;
        case 2:
            return LoadParameterAs<std::uint16_t>::handler;
        case 4:
            return LoadParameterAs<std::uint32_t>::handler;
        case 8:
            return LoadParameterAs<std::uint64_t>::handler;
        default:
            return LoadParameterAs<Quad>::handler;
    }
}

}  // namespace cupola::cpu::CUPOLA_ISA
