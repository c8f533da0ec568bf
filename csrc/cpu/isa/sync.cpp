// csrc/cpu/isa/sync.cpp - handlers of warp operations, and of synchronization.
#include "cpu/isa/chapters.hpp"
#include "cpu/isa/warp.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// Block barriers are shared by all instruction sets: ../control.cpp.
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
