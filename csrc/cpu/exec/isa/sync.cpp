// csrc/cpu/exec/isa/sync.cpp - handlers of the table's chapter on threads together.
#include "cpu/exec/isa/chapters.hpp"
#include "cpu/exec/isa/warp.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// The block's barriers are the same for every instruction set: ../control.cpp.
using Barrier = Lowered;
using BarrierCount = Lowered;
using BarrierArrive = Lowered;
using BarrierPopc = Lowered;
using BarrierPopcCount = Lowered;
using BarrierReduce = Lowered;
using BarrierReduceCount = Lowered;
using AtomicWide = Lowered;  // ../atomic.cpp

Handler find_sync(unsigned row, const Key& key) {
    return ChapterBinding<ptx::table::sync
#define FORM(mnemonic, semantics, ...) , semantics
#include "ptx/table/sync.inc"
#undef FORM
                          >::find(row, key);
}

}  // namespace cupola::cpu::CUPOLA_ISA
