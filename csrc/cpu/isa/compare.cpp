// csrc/cpu/isa/compare.cpp - handlers of comparison instructions.
#include "cpu/isa/compare.hpp"
#include "cpu/isa/chapters.hpp"

namespace cupola::cpu::CUPOLA_ISA {

Handler find_compare(unsigned row, const Key& key) {
    return ChapterBinding<ptx::table::compare
#define FORM(mnemonic, semantics, ...) , semantics
#include "ptx/table/compare.inc"
#undef FORM
                          >::find(row, key);
}

}  // namespace cupola::cpu::CUPOLA_ISA
