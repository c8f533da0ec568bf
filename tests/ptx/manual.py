# ruff: noqa: E501 - tables are wide
"""The index of instructions of the PTX ISA manual, version 9.0: section, and names. Instructions
of newer versions stand behind those of their chapter.

A name in brackets is one that the CPU device lacks: each of its forms has to be refused.
MISSING lists what newer versions and targets add to that.
"""

INDEX = """
9.7.1.1 add | 9.7.1.2 sub | 9.7.1.3 mul | 9.7.1.4 mad | 9.7.1.5 mul24 | 9.7.1.6 mad24 | 9.7.1.7 sad | 9.7.1.8 div
9.7.1.9 rem | 9.7.1.10 abs | 9.7.1.11 neg | 9.7.1.12 min | 9.7.1.13 max | 9.7.1.14 popc | 9.7.1.15 clz | 9.7.1.16 bfind
9.7.1.17 fns | 9.7.1.18 brev | 9.7.1.19 bfe | 9.7.1.20 bfi | 9.7.1.21 szext | 9.7.1.22 bmsk | 9.7.1.23 dp4a | 9.7.1.24 dp2a
9.7.1.25 clmad
9.7.2.1 add.cc | 9.7.2.2 addc | 9.7.2.3 sub.cc | 9.7.2.4 subc | 9.7.2.5 mad.lo.cc mad.hi.cc | 9.7.2.6 madc
9.7.3.1 testp | 9.7.3.2 copysign | 9.7.3.3 add | 9.7.3.4 sub | 9.7.3.5 mul | 9.7.3.6 fma | 9.7.3.7 mad | 9.7.3.8 div
9.7.3.9 abs | 9.7.3.10 neg | 9.7.3.11 min | 9.7.3.12 max | 9.7.3.13 rcp | 9.7.3.14 rcp.approx | 9.7.3.15 sqrt
9.7.3.16 rsqrt | 9.7.3.17 rsqrt.approx | 9.7.3.18 sin | 9.7.3.19 cos | 9.7.3.20 lg2 | 9.7.3.21 ex2 | 9.7.3.22 tanh
9.7.4.1 add | 9.7.4.2 sub | 9.7.4.3 mul | 9.7.4.4 fma | 9.7.4.5 neg | 9.7.4.6 abs | 9.7.4.7 min | 9.7.4.8 max | 9.7.4.9 tanh
9.7.4.10 ex2 | 9.7.5.1 add | 9.7.5.2 sub | 9.7.5.3 fma
9.7.6.1 set | 9.7.6.2 setp | 9.7.6.3 selp | 9.7.6.4 slct | 9.7.7.1 set | 9.7.7.2 setp
9.7.8.1 and | 9.7.8.2 or | 9.7.8.3 xor | 9.7.8.4 not | 9.7.8.5 cnot | 9.7.8.6 lop3 | 9.7.8.7 shf | 9.7.8.8 shl | 9.7.8.9 shr
9.7.9.3 mov | 9.7.9.4 mov | 9.7.9.5 shfl | 9.7.9.6 shfl.sync | 9.7.9.7 prmt | 9.7.9.8 ld | 9.7.9.9 ld.global | 9.7.9.10 ldu
9.7.9.11 st | 9.7.9.12 st.async | 9.7.9.13 st.bulk | 9.7.9.14 multimem.ld_reduce multimem.st multimem.red
9.7.9.15 prefetch prefetchu | 9.7.9.16 applypriority | 9.7.9.17 discard | 9.7.9.18 createpolicy | 9.7.9.19 isspacep
9.7.9.20 cvta | 9.7.9.21 cvt | 9.7.9.22 cvt.pack | 9.7.9.23 mapa | 9.7.9.24 getctarank
9.7.9.25.3.1 cp.async | 9.7.9.25.3.2 cp.async.commit_group | 9.7.9.25.3.3 cp.async.wait_group cp.async.wait_all
9.7.9.25.4.1 cp.async.bulk | 9.7.9.25.4.2 cp.reduce.async.bulk | 9.7.9.25.4.3 cp.async.bulk.prefetch
9.7.9.25.4.4 multimem.cp.async.bulk | 9.7.9.25.4.5 multimem.cp.reduce.async.bulk
9.7.9.25.5.2 cp.async.bulk.tensor | 9.7.9.25.5.3 cp.reduce.async.bulk.tensor | 9.7.9.25.5.4 cp.async.bulk.prefetch.tensor
9.7.9.25.6.1 cp.async.bulk.commit_group | 9.7.9.25.6.2 cp.async.bulk.wait_group | 9.7.9.27.1 tensormap.replace
9.7.10.3 tex | 9.7.10.4 tld4 | 9.7.10.5 txq | 9.7.10.6 istypep | 9.7.11.1 suld | 9.7.11.2 sust | 9.7.11.3 sured | 9.7.11.4 suq
9.7.12.3 bra | 9.7.12.4 brx.idx | 9.7.12.5 call | 9.7.12.6 ret | 9.7.12.7 exit
9.7.13.1 bar barrier | 9.7.13.2 bar.warp.sync | 9.7.13.3 barrier.cluster | 9.7.13.4 membar fence | 9.7.13.5 atom | 9.7.13.6 red
9.7.13.7 red.async | 9.7.13.8 vote | 9.7.13.9 vote.sync vote.ballot.sync | 9.7.13.10 match | 9.7.13.11 activemask | 9.7.13.12 redux
9.7.13.13 griddepcontrol | 9.7.13.14 elect | 9.7.13.15.9 mbarrier.init | 9.7.13.15.10 mbarrier.inval
9.7.13.15.11 mbarrier.expect_tx | 9.7.13.15.12 mbarrier.complete_tx | 9.7.13.15.13 mbarrier.arrive
9.7.13.15.14 mbarrier.arrive_drop | 9.7.13.15.15 cp.async.mbarrier.arrive | 9.7.13.15.16 mbarrier.test_wait mbarrier.try_wait
9.7.13.15.17 mbarrier.pending_count | 9.7.13.15.18 mbarrier.check_layout | 9.7.13.16 tensormap.cp_fenceproxy
9.7.13.17 clusterlaunchcontrol.try_cancel clusterlaunchcontrol.query_cancel
9.7.14.4.3 wmma.load | 9.7.14.4.4 wmma.store | 9.7.14.4.5 wmma.mma | 9.7.14.5.14 mma | 9.7.14.5.15 ldmatrix
9.7.14.5.16 stmatrix | 9.7.14.5.17 movmatrix | 9.7.14.6.3 mma
9.7.15.5.2 wgmma.mma_async | 9.7.15.6.3 wgmma.mma_async.sp | 9.7.15.7.1 wgmma.fence | 9.7.15.7.2 wgmma.commit_group
9.7.15.7.3 wgmma.wait_group | 9.7.16.7.1 tcgen05.alloc tcgen05.dealloc tcgen05.relinquish_alloc_permit
9.7.16.8.3 tcgen05.ld | 9.7.16.8.4 tcgen05.st | 9.7.16.8.5 tcgen05.wait::ld tcgen05.wait::st | 9.7.16.9.1 tcgen05.cp
9.7.16.9.2 tcgen05.shift | 9.7.16.10.9.1 tcgen05.mma | 9.7.16.10.9.2 tcgen05.mma.sp | 9.7.16.10.9.3 tcgen05.mma.ws
9.7.16.10.9.4 tcgen05.mma.ws.sp | 9.7.16.11.1 tcgen05.fence::before_thread_sync tcgen05.fence::after_thread_sync
9.7.16.12.1 tcgen05.commit
9.7.17.1 stacksave | 9.7.17.2 stackrestore | 9.7.17.3 alloca
9.7.18.1.1 vadd vsub vabsdiff vmin vmax | 9.7.18.1.2 vshl vshr | 9.7.18.1.3 vmad | 9.7.18.1.4 vset
9.7.18.2.1 vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 | 9.7.18.2.2 vset2
9.7.18.2.3 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 | 9.7.18.2.4 vset4
9.7.19.1 brkpt | 9.7.19.2 nanosleep | 9.7.19.3 pmevent | 9.7.19.4 trap | 9.7.19.5 setmaxnreg
"""

# Forms that stand for others like them, in a kernel with %r (32 bits), %d (64), %h (16), %f, %g
# (f64), %p, %q (128), and labels. ptxas takes each for sm_90a.
FORMS = [
    # integers
    "add.sat.s32 %r1, %r2, %r3;", "add.u16x2 %r1, %r2, %r3;", "add.s16x2 %r1, %r2, %r3;", "sub.sat.s32 %r1, %r2, 5;",
    "mul.hi.s64 %d1, %d2, %d3;", "mul.wide.s16 %r1, %h1, %h2;", "mad.hi.sat.s32 %r1, %r2, %r3, %r4;", "mad.wide.u32 %d1, %r1, %r2, %d2;",
    "mul24.hi.u32 %r1, %r2, %r3;", "mad24.hi.sat.s32 %r1, %r2, %r3, %r4;", "sad.s64 %d1, %d2, %d3, %d4;", "abs.s16 %h1, %h2;",
    "min.u16x2 %r1, %r2, %r3;", "max.relu.s16x2 %r1, %r2, %r3;", "min.relu.s32 %r1, %r2, %r3;", "popc.b64 %r1, %d1;",
    "bfind.shiftamt.s64 %r1, %d1;", "fns.b32 %r1, %r2, %r3, 4;", "bfe.s64 %d1, %d2, 3, 4;", "bfi.b64 %d1, %d2, %d3, %r1, %r2;",
    "szext.clamp.s32 %r1, %r2, %r3;", "bmsk.wrap.b32 %r1, %r2, %r3;", "dp4a.s32.u32 %r1, %r2, %r3, %r4;", "dp2a.hi.u32.s32 %r1, %r2, %r3, %r4;",
    "add.cc.u64 %d1, %d2, %d3; addc.cc.u64 %d1, %d2, %d3; addc.u32 %r1, %r2, %r3;", "sub.cc.s32 %r1, %r2, %r3; subc.cc.s32 %r1, %r2, %r3;",
    "mad.lo.cc.u64 %d1, %d2, %d3, %d4; madc.hi.cc.u32 %r1, %r2, %r3, %r4; madc.lo.s64 %d1, %d2, %d3, %d4;",
    # reals
    "add.rz.ftz.sat.f32 %f1, %f2, %f3;", "fma.rp.f64 %g1, %g2, %g3, %g4;", "div.full.ftz.f32 %f1, %f2, %f3;", "div.rm.f64 %g1, %g2, %g3;",
    "min.ftz.NaN.xorsign.abs.f32 %f1, %f2, %f3;", "max.f64 %g1, %g2, %g3;", "rcp.approx.ftz.f64 %g1, %g2;", "rsqrt.approx.ftz.f64 %g1, %g2;",
    "sqrt.rn.ftz.f32 %f1, %f2;", "tanh.approx.f32 %f1, %f2;", "testp.subnormal.f64 %p1, %g1;", "copysign.f64 %g1, %g2, %g3;", "ex2.approx.ftz.f32 %f1, %f2;",
    "add.rn.ftz.sat.f16 %h1, %h2, %h3;", "fma.rn.ftz.relu.f16x2 %r1, %r2, %r3, %r4;", "fma.rn.relu.bf16x2 %r1, %r2, %r3, %r4;", "mul.rn.bf16 %h1, %h2, %h3;",
    "min.NaN.xorsign.abs.bf16x2 %r1, %r2, %r3;", "neg.ftz.f16x2 %r1, %r2;", "tanh.approx.bf16x2 %r1, %r2;", "ex2.approx.ftz.bf16 %h1, %h2;", "fma.rn.oob.f16 %h1, %h2, %h3, %h4;",
    "fma.rn.oob.relu.bf16x2 %r1, %r2, %r3, %r4;",
    "ex2.approx.f32.ftz %f1, %f2;", "max.s16x2.relu %r1, %r2, %r3;", "min.s32.relu %r1, %r2, %r3;", "add.f32.ftz.sat %f1, %f2, %f3;", "vote.ballot.sync.b32 %r1, %p1, -1;",
    # comparison, selection, logic
    "set.lt.and.ftz.u32.f32 %r1, %f1, %f2, !%p1;", "set.eq.f16.f16 %h1, %h2, %h3;", "set.ne.f16.s32 %h1, %r1, %r2;", "set.nan.and.bf16.f16 %h1, %h2, %h3, %p1;", "set.ne.u16.bf16 %h1, %h2, %h3;", "set.gtu.or.bf16x2.bf16x2 %r1, %r2, %r3, %p1;",
    "set.le.u32.f16x2 %r1, %r2, %r3;", "setp.num.f16x2 %p1|%p2, %r1, %r2;", "setp.lo.xor.u64 %p1|%p2, %d1, %d2, %p3;", "setp.nan.and.bf16 %p1, %h1, %h2, %p2;",
    "selp.f64 %g1, %g2, %g3, %p1;", "slct.ftz.u64.f32 %d1, %d2, %d3, %f1;", "lop3.b32 %r1, %r2, %r3, %r4, 0x3f;", "lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x3f, %p2;",
    "lop3.and.b32 _|%p1, %r2, %r3, %r4, 0x3f, !%p2;", "shf.r.clamp.b32 %r1, %r2, %r3, %r4;", "shr.b16 %h1, %h2, 3;", "cnot.b64 %d1, %d2;", "and.pred %p1, %p2, !%p3;",
    # moves
    "mov.b128 %q1, {%d1, %d2};", "mov.b64 {%r1, _}, %d1;", "mov.u32 %r1, WARP_SZ;", "prmt.b32.rc16 %r1, %r2, %r3, %r4;", "shfl.sync.down.b32 %r1, %r2, 3, 31, -1;",
    "ld.relaxed.sys.global.L1::no_allocate.b32 %r1, [%d1];", "ld.weak.global.ca.L2::cache_hint.L2::256B.v2.b64 {%d1, %d2}, [%d3+16], %d4;", "ld.mmio.relaxed.sys.global.u32 %r1, [%d1];",
    "ld.param::entry.u64 %d1, [pa];", "ld.acquire.cluster.shared::cluster.u8 %r1, [%r2];", "ld.global.nc.L1::evict_last.L2::64B.v4.f32 {%f1, %f2, %f3, %f4}, [%d1];", "ld.global.u32 %r1, [%d1].unified;",
    "ld.volatile.shared::cta.v4.u8 {%h1, %h2, %h3, %h4}, [%r1];", "ld.global.b128 %q1, [%d1];", "ldu.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];", "st.release.gpu.global.b64 [%d1], %d2;",
    "st.weak.global.wt.L2::cache_hint.f32 [%d1], %f1, %d2;", "st.mmio.relaxed.sys.global.u32 [%d1], %r1;", "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%r1], {%g1, %g2}, [%r2];",
    "multimem.ld_reduce.relaxed.gpu.global.add.f32 %f1, [%d1];", "multimem.st.relaxed.sys.global.u32 [%d1], %r1;", "multimem.red.relaxed.gpu.global.add.u32 [%d1], %r1;",
    "prefetch.global.L2::evict_last [%d1];", "prefetch.tensormap [%d1];", "prefetchu.L1 [%d1];", "applypriority.global.L2::evict_normal [%d1], 128;", "discard.global.L2 [%d1], 128;",
    "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d1, 0.25;", "createpolicy.range.global.L2::evict_first.b64 %d1, [%d2], 16, 32;", "createpolicy.cvt.L2.b64 %d1, %d2;",
    "isspacep.shared::cluster %p1, %d1;", "isspacep.param::entry %p1, %d1;", "cvta.param.u64 %d1, %d2;", "cvta.to.shared::cluster.u64 %d1, %d2;", "mapa.shared::cluster.u32 %r1, %r2, %r3;", "getctarank.u64 %r1, %d1;",
    # conversions
    "cvt.rni.ftz.s8.f32 %r1, %f1;", "cvt.sat.u8.s64 %h1, %d1;", "cvt.rn.sat.f16.u64 %h1, %d1;", "cvt.rn.bf16.s32 %h1, %r1;", "cvt.rmi.u64.bf16 %d1, %h1;", "cvt.rpi.bf16.bf16 %h1, %h2;",
    "cvt.rz.relu.satfinite.bf16x2.f32 %r1, %f1, %f2;", "cvt.rn.satfinite.f16.f32 %h1, %f1;", "cvt.rna.satfinite.tf32.f32 %r1, %f1;", "cvt.rz.relu.tf32.f32 %r1, %f1;",
    "cvt.rn.satfinite.relu.e5m2x2.f32 %h1, %f1, %f2;", "cvt.rn.satfinite.e4m3x2.f16x2 %h1, %r1;", "cvt.rn.relu.f16x2.e4m3x2 %r1, %h1;", "cvt.rp.f32.f64 %f1, %g1;", "cvt.f64.bf16 %g1, %h1;",
    "cvt.pack.sat.s16.s32 %r1, %r2, %r3;", "cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;", "cvt.pack.sat.s4.s32.b32 %r1, %r2, %r3, %r4;", "cvt.pack.sat.u2.s32.b32 %r1, %r2, %r3, %r4;",
    # asynchronous copies
    "cp.async.ca.shared::cta.global.L2::cache_hint.L2::128B [%r1], [%d1], 8, %r2, %d2;", "cp.async.cg.shared.global [%r1], [%d1], 16, %p1;", "cp.async.commit_group; cp.async.wait_group 3; cp.async.wait_all;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [%r1], [%d1], %r2, [%r3], %h1, %d2;",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d1], %r2, [%r3];", "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%d1], [%r1], %r2, %d2;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.noftz.bf16 [%d1], [%r1], %r2, %d2;", "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.dec.u32 [%r1], [%r2], %r3, [%r4];",
    "cp.async.bulk.prefetch.L2.global.L2::cache_hint [%d1], %r1, %d2;", "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 1;",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2, %r3}], [%r4];", "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%d1, {%r2}], [%r1];",
    "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%d1, {%r1}];", "cp.async.bulk.prefetch.tensor.5d.L2.global.im2col [%d1, {%r1, %r2, %r3, %r4, %r5}], {%h1, %h2, %h3};",
    "cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], [%d1, {%r2, %r3, %r4}], [%r5], {%h1}, %d2;",
    "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%d1, {%r2, %r3, %r4, %r5}], [%r6], {%h1, %h2}, %h3;",
    "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%d1, {%r2, %r3, %r4}], [%r1];", "cp.reduce.async.bulk.tensor.5d.global.shared::cta.add.im2col_no_offs.bulk_group [%d1, {%r2, %r3, %r4, %r5, %r6}], [%r1];", "tensormap.replace.tile.rank.global.b1024.b32 [%d1], 3;",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [%d2], 128;",
    # threads together
    "bar.red.popc.u32 %r1, 1, 64, !%p1;", "barrier.cta.red.or.aligned.pred %p1, 2, %p2;", "barrier.cta.arrive.aligned 1, 64;", "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;",
    "fence.acq_rel.cluster;", "fence.acquire.gpu;", "fence.sc.sys;", "membar.gl;", "membar.proxy.alias;", "fence.proxy.async.shared::cluster;", "fence.proxy.tensormap::generic.release.cta;",
    "fence.proxy.tensormap::generic.acquire.sys [%d1], 128;", "fence.mbarrier_init.release.cluster;", "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;",
    "atom.acq_rel.sys.global.add.f64 %g1, [%d1], %g2;", "atom.global.add.noftz.bf16x2 %r1, [%d1], %r2;", "atom.shared::cluster.cas.b64 %d1, [%r1], %d2, %d3;", "atom.relaxed.gpu.global.cas.b128 %q1, [%d1], %q2, %q3;",
    "atom.global.exch.b128 %q1, [%d1], %q2;", "atom.cas.b16 %h1, [%d1], %h2, %h3;", "atom.global.min.s64 %d1, [%d2], %d3;",
    "atom.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%d1], {%f1, %f2, %f3, %f4};", "red.relaxed.gpu.global.add.noftz.v8.bf16 [%d1], {%h1, %h2, %h3, %h4, %h1, %h2, %h3, %h4};",
    "red.global.max.noftz.v4.f16x2 [%d1], {%r1, %r2, %r3, %r4};", "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [%r1], %r2, [%r3];",
    "vote.sync.uni.pred %p1, !%p2, -1;", "match.all.sync.b64 %r1|%p1, %d1, -1;", "redux.sync.xor.b32 %r1, %r2, -1;", "elect.sync _|%p1, -1;", "activemask.b32 %r1;", "griddepcontrol.launch_dependents; griddepcontrol.wait;",
    "mbarrier.init.shared::cta.b64 [%r1], 5; mbarrier.inval.b64 [%d1];", "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r1], 8; mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 8;",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], 2;", "mbarrier.arrive.relaxed.cta.b64 %d1, [%d2];", "mbarrier.arrive_drop.expect_tx.release.cta.shared::cta.b64 %d1, [%r1], 2;",
    "mbarrier.arrive_drop.noComplete.shared.b64 %d1, [%r1], 2;", "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1];", "mbarrier.test_wait.relaxed.cluster.shared::cta.b64 %p1, [%r1], %d1;",
    "mbarrier.try_wait.parity.acquire.cta.b64 %p1, [%d1], 1, %r1;", "mbarrier.pending_count.b64 %r1, %d1;",
    # chapters of stack, video and other instructions
    "alloca.u64 %d1, 16, 32; stacksave.u64 %d2; stackrestore.u64 %d2;", "vadd.s32.u32.s32.sat.max %r1, %r2.b3, %r3.h1, %r4;", "vsub.u32.u32.u32.sat %r1.h1, %r2, %r3, %r4;", "vmad.s32.u32.s32.sat.shr7 %r1, %r2.b1, -%r3.h0, %r4;",
    "vset.s32.u32.ge.add %r1, %r2, %r3.b1, %r4;", "vavrg4.s32.s32.u32.add %r1.b31, %r2.b7531, %r3.b0246, %r4;", "vset2.u32.s32.lt %r1.h0, %r2.h31, %r3.h02, %r4;", "vshl.u32.u32.u32.sat.clamp %r1, %r2, %r3.b0;",
    "setmaxnreg.dec.sync.aligned.u32 40;", "pmevent.mask 3;", "nanosleep.u32 %r1;", "brkpt;", "trap;", "exit;",
    # special registers
    *(f"mov.u32 %r1, %{name};" for name in ("tid.x", "ntid.y", "laneid", "warpid", "nwarpid", "ctaid.z", "nctaid.x", "smid", "nsmid", "clusterid.x", "nclusterid.y", "cluster_ctaid.z",
     "cluster_nctaid.x", "cluster_ctarank", "cluster_nctarank", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "clock", "clock_hi", "pm0", "pm7", "envreg0", "envreg31",
     "globaltimer_lo", "globaltimer_hi", "reserved_smem_offset_begin", "reserved_smem_offset_end", "reserved_smem_offset_cap", "reserved_smem_offset_0", "reserved_smem_offset_1", "total_smem_size",
     "aggr_smem_size", "dynamic_smem_size")),
    *(f"mov.u64 %d1, %{name};" for name in ("gridid", "clock64", "globaltimer", "pm3_64", "current_graph_exec")), "mov.pred %p1, %is_explicit_cluster;",
]  # fmt: skip

# Instructions of newer devices than compute_90a: in a module for sm_90a, neither ptxas nor the CPU
# device takes them.
NEWER = [
    "add.rn.f32x2 %d1, %d2, %d3;", "add.rn.f32.f16 %f1, %h1, %f2;", "min.f32 %f1, %f2, %f3, %f4;", "redux.sync.min.f32 %f1, %f2, -1;", "st.bulk.weak.shared::cta [%r1], %d1, 0;",
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];", "tcgen05.fence::before_thread_sync;", "cvt.rn.satfinite.e2m1x2.f32 %h1, %f1, %f2;",
    "add.s32.u32 %r1, %r2, %r3;", "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d1], [%r1], %r2, %h1;",
]  # fmt: skip

# Forms that NVIDIA's assembler of CUDA 13.5 takes and the CPU device lacks: the manual's section,
# the first version of PTX, a target that has the form, and the statement. The sections are those
# of PTX 9.1.
MISSING = [
    # The manual requires a completion mechanism for .weak, and describes no store without one.
    ("9.7.9.12", 87, "sm_100", "st.async.weak.global.u32 [%d1], %r1;"),
    # The text of the manual does not say which random bits belong to which of two numbers.
    ("9.7.9.21", 87, "sm_100a", "cvt.rs.satfinite.e2m1x4.f32 %h1, {%f1,%f2,%f3,%f4}, %r2;"),
    ("9.7.9.21", 87, "sm_100a", "cvt.rs.relu.satfinite.e2m1x4.f32 %h1, {%f1,%f2,%f3,%f4}, %r2;"),
    # The instructions of the fabric address logical endpoints, which the CPU device does not have.
    ("9.7.11", 95, "sm_100", "fabric.submit.commit_group;"),
    ("9.7.11", 93, "sm_100", "fabric.submit;"),
    # Of PTX 9.3 to 9.5; libcu++ uses none of these.
    ("9.7.9.8", 94, "sm_90", "ld.global.u32.proxy::readonly %r1, [%d1];"),
    ("9.7.13.5", 94, "sm_90", "atom.global.add.noftz.f32 %f1, [%d1], %f2;"),
    ("9.7.13.6", 94, "sm_90", "red.global.add.noftz.v4.f32 [%d1], {%f1,%f2,%f3,%f4};"),
    ("9.7.9.25.4.2", 94, "sm_90", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f32 [%d1], [%r1], 16;"),
    ("9.7.14.5.15", 94, "sm_100a", "ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {%r1}, [%r2];"),
    ("9.7.9.14", 93, "sm_100", "multimem.st.async.release.sys.global.u32 [%d1], %r1;"),
    ("9.7.9.14", 93, "sm_100", "multimem.red.async.release.sys.global.add.u32 [%d1], %r1;"),
    ("10", 95, "sm_100", "mov.u32 %r1, %locality_domain_id;"),
    # The manual has no scale of D for integers.
    ("9.7.16.10.9.1", 86, "sm_100a", "tcgen05.mma.cta_group::1.kind::i8 [%r1], %d1, %d2, %r3, %p1, 3;"),
]  # fmt: skip
