// csrc/cpu/isa/integer_handlers.cpp - handlers of integer instructions.
#include "cpu/isa/bits.hpp"
#include "cpu/isa/chapters.hpp"

namespace cupola::cpu::CUPOLA_ISA {

Handler find_integer(unsigned row, const Key& key) {
    return ChapterBinding<ptx::table::integer
#define FORM(mnemonic, semantics, ...) , semantics
#include "ptx/table/integer.inc"
#undef FORM
                          >::find(row, key);
}

}  // namespace cupola::cpu::CUPOLA_ISA
