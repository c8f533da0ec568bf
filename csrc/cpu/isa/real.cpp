// csrc/cpu/isa/real.cpp - handlers of floating-point instructions.
#include "cpu/isa/real.hpp"
#include "cpu/isa/chapters.hpp"

namespace cupola::cpu::CUPOLA_ISA {

Handler find_real(unsigned row, const Key& key) {
    return ChapterBinding<ptx::table::real
#define FORM(mnemonic, semantics, ...) , semantics
#include "ptx/table/real.inc"
#undef FORM
                          >::find(row, key);
}

}  // namespace cupola::cpu::CUPOLA_ISA
