# cupola/judging/codes.py - the codes of findings: what each says, and its remedy.
"""The table of codes. A code never changes its meaning; programs may depend on it."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """The meaning of a code.

    Attributes
    ----------
    verdict : str
        The verdict that it makes: ``wrong``, ``refused``, or "" where it is advice.
    text : str
    remedy : str
    """

    verdict: str
    text: str
    remedy: str


CODES = {
    # The candidate can't be judged, or the task can't.
    "compile-error": Code("wrong", "the source does not compile",
        "correct the line that the compiler names"),
    "include-refused": Code("refused", "the source includes a file that is no allowed header",
        "include headers of the toolkit alone, or give their folder with --include"),
    "declaration": Code("refused", "the launch in the candidate's comments is invalid",
        "write '// cupola: block = [128]' with values as in a declaration"),
    "task": Code("refused", "the task's file is invalid",
        "correct the reference's file; the candidate was not run"),
    "reference-raises": Code("refused", "the reference raises an exception",
        "correct the reference, or bound the sizes and inputs that it takes"),
    "reference-random": Code("refused", "the reference returns other results for the same inputs",
        "make the reference deterministic: give its random numbers a seed"),
    "reference-mutates": Code("refused", "the reference changes an input without mutates",
        "let the reference work on a copy, or name the input in mutates"),
    "reference-shape": Code("refused", "a result of the reference has another shape or number",
        "return the outputs in their order, with the declared shapes"),
    "compiler": Code("refused", "no compiler could run", "install nvcc or NVRTC"),
    "package": Code("refused", "the manifest or the image of the package is invalid",
        "build the package again, with this version of cupola"),
    # The kernel computes something else.
    "wrong-result": Code("wrong", "an output differs from the reference",
        "compare the kernel's arithmetic with the reference for the sizes named here"),
    "wrong-result-at-edge": Code("wrong", "an output is wrong for some sizes alone",
        "handle sizes that are no multiple of the block or tile, and non-square shapes"),
    "output-not-written": Code("wrong", "elements of an output are never written",
        "write each element of the output, also behind the last whole block"),
    "output-constant": Code("wrong", "the output does not depend on the inputs",
        "compute the output from the inputs"),
    "nan-swallowed": Code("wrong", "a NaN of an input is lost",
        "let NaN pass: fmax and fmin return the other operand; compare with isnan"),
    "special-values": Code("wrong", "the result is wrong for unusual values",
        "guard against infinities and overflow as the reference does, e.g. subtract the maximum"),
    "aliasing": Code("wrong", "the result is wrong where two arrays are one memory",
        "read all that a thread needs before another thread writes it; remove __restrict__"),
    "view": Code("wrong", "the result is wrong where an input is a view with strides",
        "multiply each index by the stride of its axis, the last axis included"),
    "block-size": Code("wrong", "the kernel is wrong for another launch that the task names",
        "use blockDim and gridDim in place of numbers; cover all elements for any block"),
    "variant": Code("wrong", "a variant of the family gives another result than is expected",
        "let each thread cover what the variant's tile and grid give it"),
    "overflow": Code("wrong", "the index arithmetic overflows 32 bits at large sizes",
        "compute the index in 64 bits: (size_t)row * columns + column"),
    "wrong-gradient": Code("wrong", "a gradient differs from finite differences of the operation",
        "derive the backward operation again; an input that is read twice has the sum of both"),
    # The kernel depends on what is not defined.
    "depends-on-order": Code("wrong", "the result depends on the order of blocks, warps or lanes",
        "add the missing __syncthreads, __syncwarp or atomic operation"),
    "not-deterministic": Code("wrong", "equal launches give different, wrong results",
        "initialise what the kernel reads; use no clock and no addresses as values"),
    "race": Code("wrong", "two threads access one place, and nothing orders them",
        "put a barrier between the two accesses, or use an atomic operation"),
    "missing-wait": Code("wrong", "memory is accessed before an asynchronous copy is complete",
        "wait before the access: cp.async.wait_group 0, or the mbarrier that counts the copy"),
    "uninitialised": Code("wrong", "the kernel reads memory that nothing has written",
        "initialise accumulators and shared memory; do not read the output first"),
    "barrier": Code("wrong", "a barrier or a mask is wrong",
        "let all threads of the block reach each __syncthreads: no barrier in a divergent branch"),
    # The kernel leaves its memory.
    "memory": Code("wrong", "the kernel accesses memory out of bounds, freed or misaligned",
        "check the index against the size before the access"),
    "writes-outside": Code("wrong", "the kernel writes around an array",
        "check the index against the size before the store"),
    "writes-input": Code("wrong", "the kernel writes to an input without mutates",
        "write to outputs alone; make the input's pointer const"),
    "state": Code("wrong", "a second launch is wrong: the module keeps state between launches",
        "reset __device__ variables in each launch, or use none"),
    # The kernel or its process was stopped.
    "launch-error": Code("wrong", "the launch fails",
        "correct the parameters, the block and the shared memory; remove traps"),
    "timeout": Code("wrong", "the time limit was reached",
        "end each loop; a barrier or a lock may wait for ever"),
    "memory-limit": Code("wrong", "the memory limit was reached",
        "use less static, local and heap memory"),
    "output-limit": Code("wrong", "more was printed than the limit allows",
        "remove printf"),
    "exit": Code("wrong", "the process that ran the kernel ended",
        "remove what ends the process or changes its memory"),
    # Advice.
    "occupancy": Code("", "few warps fit on a processor, or registers spill",
        "use fewer registers or less shared memory, or other blocks"),
    "uncoalesced": Code("", "warps move more sectors of 32 bytes than their bytes need",
        "let neighbouring threads read and write neighbouring elements"),
    "bank-conflicts": Code("", "lanes of a warp wait for each other at shared memory",
        "pad rows of shared memory by an element, or permute the columns"),
    "uncovered": Code("", "no input reached these lines",
        "remove them, or widen the sizes and ranges of the task"),
    "not-judged": Code("", "a part was not judged", "see the text"),
}  # fmt: skip
