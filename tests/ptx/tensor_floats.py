"""Floats of 4, 6 and 8 bits, and how products of tensor memory pack them."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Small:
    """A type: NumPy's, its number in an instruction descriptor, its bits, its place in a byte."""

    name: str
    kind: type
    number: int
    bits: int = 8
    shift: int = 0

    def codes(self, values):
        return np.asarray(values).astype(self.kind).view(np.uint8)

    def values(self, codes):
        return codes.astype(np.uint8).view(self.kind).astype(np.float64)

    def bytes(self, codes):
        """As in tensor memory: one to a byte."""
        return (codes << self.shift).astype(np.uint8)

    def shared(self, codes, axis=1):
        """As in shared memory: 16 to 16 bytes, the bits first, along k or along the lines."""
        if self.bits == 8:
            return codes
        if axis == 0:
            return np.ascontiguousarray(self.shared(np.ascontiguousarray(codes.T)).T)
        bits = np.unpackbits(codes[..., None], axis=-1, bitorder="little")[..., : self.bits]
        groups = bits.reshape(codes.shape[0], -1, 16 * self.bits)
        padded = np.pad(groups, [(0, 0), (0, 0), (0, 128 - 16 * self.bits)])
        packed = np.packbits(padded, axis=-1, bitorder="little")
        return packed.reshape(codes.shape[0], -1)


E4M3 = Small("e4m3", ml_dtypes.float8_e4m3fn, 0)
E5M2 = Small("e5m2", ml_dtypes.float8_e5m2, 1)
E2M3 = Small("e2m3", ml_dtypes.float6_e2m3fn, 3, 6)
E3M2 = Small("e3m2", ml_dtypes.float6_e3m2fn, 4, 6)
E2M1 = Small("e2m1", ml_dtypes.float4_e2m1fn, 5, 4, 2)
SMALL = {each.name: each for each in (E4M3, E5M2, E2M3, E3M2, E2M1)}


def nibbles(codes):
    """Packed e2m1: two to a byte, the first one in the lower half."""
    return (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)


def scale_codes(factors, name):
    """Scale factors as bytes: ue8m0 or ue4m3."""
    kind = ml_dtypes.float8_e8m0fnu if name == "ue8m0" else ml_dtypes.float8_e4m3fn
    return np.asarray(factors, np.float64).astype(kind).view(np.uint8)


def put_scales(cells, column, codes, first, warps=range(4)):
    """Writes the factors of each line to the lanes of warps; `first`: the byte of the first."""
    count = len(codes)
    stride = 8 if count > 128 else 4
    words = cells.view(np.uint8).reshape(*cells.shape, 4)
    for n in range(codes.shape[1]):
        byte = first + n
        lines = np.arange(count)
        for warp in warps:
            at = column + lines // 32 + byte // 4 * stride
            words[warp * 32 + lines % 32, at, byte % 4] = codes[:, n]
