"""Layouts of matrices in shared memory, and their descriptors."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Layout:
    """How a matrix lies in shared memory: the bytes of a swizzled row (16: none), and strides."""

    width: int
    across: bool = False  # k is the outer dimension
    wide: bool = False  # pieces of 32 bytes are swizzled

    @property
    def mode(self):
        return 1 if self.wide else {16: 0, 128: 2, 64: 4, 32: 6}[self.width]

    def strides(self, lines, k_bytes, size):
        """The leading and the stride dimension, in bytes, of a matrix without gaps, plus a gap."""
        if self.across:
            deep = 4 if self.wide else 8  # rows of k in a pattern
            if self.width == 16:  # the stride: next 16 bytes of lines; leading: next 8 of k
                return lines * size // 16 * 128 + 128, 128
            return k_bytes // size // deep * deep * self.width, deep * self.width
        if self.width == 16:  # leading: next 16 bytes of k; stride: next 8 lines
            return 144 * -(-lines // 8), 144
        # Between two patterns along k, which no descriptor has.
        return lines * self.width, 8 * self.width

    def linear(self, line, depth, size, leading, stride):
        """The byte of (line, byte of k) before swizzling."""
        if not self.across:
            if self.width == 16:
                return line % 8 * 16 + line // 8 * stride + depth // 16 * leading + depth % 16
            row = line % 8 * self.width + line // 8 * stride
            return row + depth // self.width * leading + depth % self.width
        x, k, deep = line * size + depth % size, depth // size, 4 if self.wide else 8
        if self.width == 16:
            return x % 16 + x // 16 * stride + k % 8 * 16 + k // 8 * leading
        return (
            x % self.width + x // self.width * leading + k % deep * self.width + k // deep * stride
        )

    def swizzled(self, address):
        if self.wide:
            return address ^ (address >> 7 & 3) << 5
        return address ^ (address >> 7 & (self.width // 16 - 1)) << 4

    def place(self, matrix, room, start, step):
        """Writes the matrix to the bytes of shared memory; the descriptors of its steps along k."""
        lines, size = matrix.shape[0], matrix.itemsize
        data = matrix.view(np.uint8).reshape(lines, -1)
        leading, stride = self.strides(lines, data.shape[1], size)
        line, depth = np.indices(data.shape)
        at = start + self.linear(line, depth, size, leading, stride)
        room[self.swizzled(at)] = data
        first = np.arange(0, data.shape[1], step)
        begin = start + self.linear(0 * first, first, size, leading, stride)
        rest = leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | self.mode << 61
        return [int(b) >> 4 | rest for b in begin]


PLAIN, SW32, SW64, SW128 = (Layout(width) for width in (16, 32, 64, 128))
T_PLAIN, T32, T64, T128 = (Layout(width, True) for width in (16, 32, 64, 128))
T_WIDE = Layout(128, True, True)
