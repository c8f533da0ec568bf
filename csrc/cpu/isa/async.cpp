// csrc/cpu/isa/async.cpp - handlers of asynchronous copies that depend on the instruction set.
#include "cpu/isa/bulk.hpp"
#include "cpu/isa/chapters.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// The other handlers are shared by all instruction sets: ../mbarrier.cpp, ../tensor.cpp,
// ../async.cpp.
using MbarrierInit = Lowered;
using MbarrierInval = Lowered;
using MbarrierExpect = Lowered;
using MbarrierComplete = Lowered;
using MbarrierArrive = Lowered;
using MbarrierArriveExpect = Lowered;
using MbarrierDrop = Lowered;
using MbarrierDropExpect = Lowered;
using MbarrierArriveCopied = Lowered;
using MbarrierArriveCounted = Lowered;
using MbarrierTest = Lowered;
using MbarrierTestParity = Lowered;
using MbarrierTry = Lowered;
using MbarrierTryParity = Lowered;
using MbarrierPending = Lowered;
using MbarrierCheckLayout = Lowered;
using CopyAsync = Lowered;
using CommitGroup = Lowered;
using WaitGroup = Lowered;
using WaitAll = Lowered;
using CommitBulk = Lowered;
using WaitBulk = Lowered;
using WaitBulkRead = Lowered;
using Nothing = Lowered;
using BulkToShared = Lowered;
using BulkMasked = Lowered;
using BulkInside = Lowered;
using BulkMulticast = Lowered;
using BulkToCluster = Lowered;
using BulkToGlobal = Lowered;
using StoreAsync = Lowered;
using StoreRelease = Lowered;
using StoreZeros = Lowered;
using ReduceAsync = Lowered;
using ReduceRelease = Lowered;
using FenceAddress = Lowered;
using CreatePolicy = Lowered;
using TensorLoad = Lowered;
using TensorSend = Lowered;
using TensorStore = Lowered;
using TensorReplace = Lowered;
using TensorCopyFence = Lowered;
using Multimem = Lowered;
using TryCancel = Lowered;
using TryCancelForAll = Lowered;
using QueryCanceled = Lowered;
using QueryBlock = Lowered;

Handler find_async(unsigned row, const Key& key) {
    return ChapterBinding<ptx::table::async
#define FORM(mnemonic, semantics, ...) , semantics
#include "ptx/table/async.inc"
#undef FORM
                          >::find(row, key);
}

}  // namespace cupola::cpu::CUPOLA_ISA
