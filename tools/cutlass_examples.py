# tools/cutlass_examples.py - the examples of CUTLASS that tools/cutlass.py runs.
"""One row for each program: its target, its source and a small size of its problem."""

from __future__ import annotations

import dataclasses
from pathlib import PurePath

SMALL = "--m=256 --n=256 --k=256 --iterations=0"
GROUPS = "--m=256 --n=128 --k=128 --groups=2 --iterations=0"
CONVOLUTION = "--n=1 --d=1 --h=8 --w=8 --c=64 --k=128 --t=1 --r=3 --s=3 --iterations=0"


@dataclasses.dataclass(frozen=True)
class Example:
    """A program. `target` is the target of its code, `source` a file in the folder `examples`."""

    target: str
    source: str
    arguments: str = SMALL
    definitions: tuple[str, ...] = ()
    waived: str = ""  # why the program cannot pass, if its source says so
    problem: str = ""  # the text of the file problem.txt, which the arguments name

    @property
    def name(self) -> str:
        return "_".join([PurePath(self.source).stem, *map(str.lower, self.definitions)])

    @property
    def capability(self) -> str:
        """The compute capability of the device that the target is for, such as 10.0."""
        digits = self.target.rstrip("af")
        return f"{digits[:-1]}.{digits[-1]}"


# These two print a speed, and do not compare their results.
UNCHECKED = "the program checks no result"
HOPPER = [
    Example("90a", "cute/tutorial/hopper/wgmma_sm90.cu", "256 128 256", waived=UNCHECKED),
    Example("90a", "cute/tutorial/hopper/wgmma_tma_sm90.cu", "256 128 256", waived=UNCHECKED),
    Example("90a", "48_hopper_warp_specialized_gemm/48_hopper_warp_specialized_gemm.cu"),
    Example(
        "90a",
        "49_hopper_gemm_with_collective_builder/49_collective_builder.cu",
        "--m=256 --n=256 --k=256",
    ),
    Example(
        "90a",
        "50_hopper_gemm_with_epilogue_swizzle/50_hopper_gemm_with_epilogue_swizzle.cu",
        "--m=256 --n=256 --k=256",
    ),
    Example(
        "90a",
        "51_hopper_gett/51_hopper_gett.cu",
        "--modeC=m,n,l --modeA=m,k,l --modeB=k,n,l --extents=m:256,n:256,k:128,l:2",
    ),
    Example(
        "90a",
        "52_hopper_gather_scatter_fusion/52_hopper_gather_scatter_fusion.cu",
        "--m=256 --n=256 --k=256 --index_size=128 --iterations=1",
    ),
    Example(
        "90a",
        "53_hopper_gemm_permute/53_hopper_gemm_permute.cu",
        # Its permutations divide each extent by 512, and the batch by 8.
        "--m=512 --n=512 --k=512 --batch_size=8 --iterations=1",
    ),
    Example("90a", "54_hopper_fp8_warp_specialized_gemm/54_hopper_fp8_warp_specialized_gemm.cu"),
    Example(
        "90a",
        "55_hopper_mixed_dtype_gemm/55_hopper_mixed_dtype_gemm.cu",
        "--m=256 --n=256 --k=256 --g=128 --iterations=0 --warmup=0",
    ),
    Example(
        "90a",
        "55_hopper_mixed_dtype_gemm/55_hopper_int4_bf16_gemm.cu",
        "--m=256 --n=256 --k=256 --g=128 --iterations=0 --warmup=0",
    ),
    Example(
        "90a",
        "55_hopper_mixed_dtype_gemm/55_hopper_int4_fp8_gemm.cu",
        "--m=256 --n=256 --k=256 --g=128 --iterations=0 --warmup=0",
    ),
    Example(
        "90a",
        "56_hopper_ptr_array_batched_gemm/56_hopper_ptr_array_batched_gemm.cu",
        "--m=256 --n=256 --k=256 --l=2 --iterations=0",
    ),
    Example("90a", "57_hopper_grouped_gemm/57_hopper_grouped_gemm.cu", GROUPS),
]
DATA_CENTRE = [
    Example("100a", "cute/tutorial/blackwell/01_mma_sm100.cu", "512 1024 128"),
    Example("100a", "cute/tutorial/blackwell/02_mma_tma_sm100.cu", "512 1024 128"),
    Example("100a", "cute/tutorial/blackwell/03_mma_tma_multicast_sm100.cu", "512 1024 128"),
    Example("100a", "cute/tutorial/blackwell/04_mma_tma_2sm_sm100.cu", "512 1024 128"),
    Example("100a", "cute/tutorial/blackwell/05_mma_tma_epi_sm100.cu", "512 1024 128"),
    Example("100a", "70_blackwell_gemm/70_blackwell_fp16_gemm.cu"),
    Example("100a", "70_blackwell_gemm/70_blackwell_fp8_gemm.cu"),
    Example(
        "100a",
        "71_blackwell_gemm_with_collective_builder/71_blackwell_gemm_with_collective_builder.cu",
        "--m=256 --n=256 --k=256",
    ),
    Example("100a", "72_blackwell_narrow_precision_gemm/72a_blackwell_nvfp4_bf16_gemm.cu"),
    Example("100a", "72_blackwell_narrow_precision_gemm/72b_blackwell_nvfp4_nvfp4_gemm.cu"),
    Example("100a", "72_blackwell_narrow_precision_gemm/72c_blackwell_mixed_mxfp8_bf16_gemm.cu"),
    Example("100a", "73_blackwell_gemm_preferred_cluster/blackwell_gemm_preferred_cluster.cu"),
    Example("100a", "74_blackwell_gemm_streamk/blackwell_gemm_streamk.cu"),
    Example("100a", "75_blackwell_grouped_gemm/75_blackwell_grouped_gemm.cu", GROUPS),
    Example("100a", "75_blackwell_grouped_gemm/75_blackwell_grouped_gemm_block_scaled.cu", GROUPS),
    Example("100a", "76_blackwell_conv/76_blackwell_conv_fprop.cu", CONVOLUTION),
    Example("100a", "76_blackwell_conv/76_blackwell_conv_dgrad.cu", CONVOLUTION),
    Example("100a", "76_blackwell_conv/76_blackwell_conv_wgrad.cu", CONVOLUTION),
    Example(
        "100a",
        "77_blackwell_fmha/77_blackwell_fmha.cu",
        "--b=1 --h=2 --q=256 --k=256 --d=128 --verify --warmup_iterations=0 --iterations=1",
        definitions=("FP16",),
    ),
    Example("100a", "78_blackwell_emulated_bf16x9_gemm/78_blackwell_emulated_bf16x9_gemm.cu"),
    Example(
        "100a",
        "86_blackwell_mixed_dtype_gemm/86_blackwell_mixed_dtype.cu",
        "--m=256 --n=128 --k=128 --verify --iterations=0",
        # It wants a minor version of 8 or more, whatever the major version is.
        waived="the program refuses to run when nvcc 13.0 compiled it",
    ),
    Example(
        "100a",
        "91_fp4_gemv/91_fp4_gemv.cu",
        # With k=512 it reads behind its scale factors.
        "--m=256 --k=1024 --batch=1 --iterations=0 --profiling=false",
    ),
    Example(
        "100a",
        "92_blackwell_moe_gemm/92_blackwell_moe_gemm_regular.cu",
        "--m=256 --n=128 --k=256 --groups=2 --iterations=0",
    ),
    Example(
        "100a",
        "92_blackwell_moe_gemm/92_blackwell_moe_gemm_grouped.cu",
        "--m=256 --n=128 --k=256 --groups=2 --iterations=0 --benchmark=problem.txt",
        problem="0 256x128x256\n1 256x64x256\n",
    ),
    Example(
        "100a",
        "92_blackwell_moe_gemm/92_blackwell_moe_gemm_fp4_regular.cu",
        "--m=256 --n=128 --k=256 --groups=2 --iterations=0",
    ),
    Example("100a", "93_blackwell_low_latency_gqa/tgv_gqa.cu", "--kvL=128 --kvH=1 --qH=8"),
    Example("100a", "95_blackwell_gemm_green_context/95_blackwell_gemm_green_context.cu"),
    Example("103a", "89_sm103_fp4_ultra_gemm/89_sm103_fp4_ultra_gemm.cu"),
]
GEFORCE = [
    Example("120a", "79_blackwell_geforce_gemm/79a_blackwell_geforce_nvfp4_bf16_gemm.cu"),
    Example("120a", "79_blackwell_geforce_gemm/79b_blackwell_geforce_nvfp4_nvfp4_gemm.cu"),
    Example(
        "120a", "79_blackwell_geforce_gemm/79c_blackwell_geforce_mixed_mxfp8_mxfp6_bf16_gemm.cu"
    ),
    Example(
        "120a", "79_blackwell_geforce_gemm/79d_blackwell_geforce_nvfp4_grouped_gemm.cu", GROUPS
    ),
    Example(
        "120a",
        "87_blackwell_geforce_gemm_blockwise/87a_blackwell_geforce_fp8_bf16_gemm_blockwise.cu",
    ),
    Example(
        "120a",
        "87_blackwell_geforce_gemm_blockwise/87b_blackwell_geforce_fp8_bf16_gemm_groupwise.cu",
    ),
    Example(
        "120a",
        "87_blackwell_geforce_gemm_blockwise/87c_blackwell_geforce_fp8_bf16_grouped_gemm_groupwise.cu",
        GROUPS,
    ),
]
EXAMPLES = [*HOPPER, *DATA_CENTRE, *GEFORCE]
