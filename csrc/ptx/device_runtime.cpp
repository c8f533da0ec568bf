// csrc/ptx/device_runtime.cpp - functions of CUDA's device runtime that cooperative groups call,
// as PTX. They are parsed together with a module that declares but does not define them.
#include "ptx/device_runtime.hpp"

namespace cupola::ptx {
namespace {

struct Known {
    std::string_view name, text;
};

// A grid's handle is the address of its size and, after it, its barrier. The top bit of the barrier
// flips when the last block arrives. %envreg1 and %envreg2 hold the address; it is 0 if the launch
// is not cooperative.
#define BARRIER                                                                                 \
    "{ .reg .pred p, q; .reg .b32 n, m, o, x; .reg .b64 h; ld.param.b64 h, [handle];"           \
    " setp.eq.u64 p, h, 0; @p trap; barrier.sync 0;"                                            \
    " mov.u32 n, %tid.x; mov.u32 m, %tid.y; or.b32 n, n, m; mov.u32 m, %tid.z; or.b32 n, n, m;" \
    " setp.ne.u32 p, n, 0; @p bra DONE;"                                                        \
    " mov.u32 n, %nctaid.x; mov.u32 m, %nctaid.y; mul.lo.u32 n, n, m; mov.u32 m, %nctaid.z;"    \
    " mul.lo.u32 n, n, m; sub.u32 n, 0x80000001, n;"                                            \
    " mov.u32 x, %ctaid.x; mov.u32 m, %ctaid.y; or.b32 x, x, m; mov.u32 m, %ctaid.z;"           \
    " or.b32 x, x, m; setp.eq.u32 q, x, 0; selp.b32 n, n, 1, q;"                                \
    " fence.acq_rel.gpu; atom.add.acq_rel.gpu.u32 o, [h+4], n;"                                 \
    " WAIT: ld.acquire.gpu.u32 m, [h+4]; xor.b32 x, m, o; setp.ge.s32 q, x, 0; @q bra WAIT;"    \
    " DONE: barrier.sync 0; st.param.b32 [result], 0; ret; }"

constexpr Known functions[] = {
    {"cudaCGGetIntrinsicHandle",
     // Scope 1 is a grid. For other scopes the handle is 0.
     ".func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope)"
     "{ .reg .pred p; .reg .b32 s, low, high; .reg .b64 h; ld.param.b32 s, [scope];"
     " mov.u32 high, %envreg1; mov.u32 low, %envreg2; mov.b64 h, {low, high};"
     " setp.eq.u32 p, s, 1; selp.b64 h, h, 0, p; st.param.b64 [result], h; ret; }"},
    {"cudaCGSynchronize",
     ".func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)" BARRIER},
    {"cudaCGSynchronizeGrid",
     ".func (.param .b32 result) cudaCGSynchronizeGrid(.param .b64 handle, .param .b32 "
     "flags)" BARRIER},
    {"cudaCGGetSize",
     ".func (.param .b32 result) cudaCGGetSize(.param .b64 threads, .param .b64 grids,"
     " .param .b64 handle)"
     "{ .reg .pred p; .reg .b32 n, m; .reg .b64 a, h; ld.param.b64 h, [handle];"
     " setp.eq.u64 p, h, 0; @p trap;"
     " mov.u32 n, %ntid.x; mov.u32 m, %ntid.y; mul.lo.u32 n, n, m; mov.u32 m, %ntid.z;"
     " mul.lo.u32 n, n, m; mov.u32 m, %nctaid.x; mul.lo.u32 n, n, m; mov.u32 m, %nctaid.y;"
     " mul.lo.u32 n, n, m; mov.u32 m, %nctaid.z; mul.lo.u32 n, n, m;"
     " ld.param.b64 a, [threads]; st.u32 [a], n; ld.param.b64 a, [grids]; st.u32 [a], 1;"
     " st.param.b32 [result], 0; ret; }"},
    {"cudaCGGetRank",
     ".func (.param .b32 result) cudaCGGetRank(.param .b64 thread, .param .b64 grid,"
     " .param .b64 handle)"
     "{ .reg .pred p; .reg .b32 n, m, k; .reg .b64 a, h; ld.param.b64 h, [handle];"
     " setp.eq.u64 p, h, 0; @p trap;"
     " mov.u32 n, %ctaid.z; mov.u32 m, %nctaid.y; mov.u32 k, %ctaid.y; mad.lo.u32 n, n, m, k;"
     " mov.u32 m, %nctaid.x; mov.u32 k, %ctaid.x; mad.lo.u32 n, n, m, k;"
     " mov.u32 m, %ntid.z; mov.u32 k, %tid.z; mad.lo.u32 n, n, m, k;"
     " mov.u32 m, %ntid.y; mov.u32 k, %tid.y; mad.lo.u32 n, n, m, k;"
     " mov.u32 m, %ntid.x; mov.u32 k, %tid.x; mad.lo.u32 n, n, m, k;"
     " ld.param.b64 a, [thread]; st.u32 [a], n; ld.param.b64 a, [grid]; st.u32 [a], 0;"
     " st.param.b32 [result], 0; ret; }"},
};
#undef BARRIER

}  // namespace

std::vector<Piece> device_runtime(const Module& module) {
    std::vector<Piece> found;
    for (const Function& f : module.functions) {
        if (f.defined || f.entry) continue;
        for (const Known& known : functions)
            if (known.name == f.name) found.push_back({known.text, f.line});
    }
    return found;
}

}  // namespace cupola::ptx
