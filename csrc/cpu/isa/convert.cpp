// csrc/cpu/isa/convert.cpp - handlers of conversion instructions.
#include "cpu/isa/convert.hpp"
#include "cpu/isa/chapters.hpp"

namespace cupola::cpu::CUPOLA_ISA {

Handler find_convert(unsigned row, const Key& key) {
    return ChapterBinding<ptx::table::convert
#define FORM(mnemonic, semantics, ...) , semantics
#include "ptx/table/convert.inc"
#undef FORM
                          >::find(row, key);
}

}  // namespace cupola::cpu::CUPOLA_ISA
