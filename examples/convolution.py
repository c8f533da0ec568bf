# examples/convolution.py - a photograph through filters whose sizes the compiler knows.
"""Sharpen and blur a photograph; each stage is timed on the device.

python examples/convolution.py [picture.png]

The kernel is a template: the filter's size and the image's width are constants of each instance,
so that its loops are unrolled and its offsets computed when it is compiled. The instances wanted
are named as C++ writes them, and found by these names.
"""

import sys

import matplotlib

matplotlib.use("Agg")  # into a file, no window
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.cbook import get_sample_data

import cupola

SOURCE = r"""
// out[row, column] = sum of filter[i, j] * image[row + i - size / 2, column + j - size / 2], where
// what lies outside of the image is 0. Any grid does: each thread goes on to the element that is as
// many further as there are threads.
template <int size, int width>
__global__ void convolve(const float* image, const float* filter, float* out, int height) {
    const int stride = gridDim.x * blockDim.x;
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < height * width; at += stride) {
        const int row = at / width - size / 2, column = at % width - size / 2;
        float sum = 0;
        for (int i = 0; i < size; ++i)
            for (int j = 0; j < size; ++j)
                if (row + i >= 0 && row + i < height && column + j >= 0 && column + j < width)
                    sum += filter[i * size + j] * image[(row + i) * width + column + j];
        out[at] = sum;
    }
}
"""


def sharpen():
    """Nine times the pixel less all nine around it, so that its weights sum to 1."""
    weights = np.full((3, 3), -1, np.float32)
    weights[1, 1] = 9
    return weights


def blur(size):
    """A Gaussian bell, its weights sum to 1."""
    ramp = np.arange(size, dtype=np.float32) - size // 2
    bell = np.exp(-(ramp**2) / (2 * (size / 5) ** 2))
    weights = np.outer(bell, bell)
    return (weights / weights.sum()).astype(np.float32)


FILTERS = {"sharpened, 3 x 3": sharpen(), "blurred, 9 x 9": blur(9)}


def photograph():
    """Grace Hopper, of matplotlib's sample data, in grey: (height, width) float32 from 0 to 1."""
    with get_sample_data("grace_hopper.jpg") as file:
        colours = plt.imread(file, format="jpg").astype(np.float32) / 255
    return colours @ np.array([0.299, 0.587, 0.114], np.float32)


class Stages:
    """Times of the stages of some work on a stream, by events between them."""

    def __init__(self):
        self.names, self.events = [], [cupola.Event()]
        self.events[0].record()

    def end(self, name):
        """A stage ends here, when the device has come so far."""
        self.names.append(name)
        self.events.append(cupola.Event())
        self.events[-1].record()

    def __str__(self):
        pairs = zip(self.names, self.events, self.events[1:], strict=False)
        return "\n".join(
            f"  {name:20} {after.elapsed_since(before) * 1e3:9.3f} ms"
            for name, before, after in pairs
        )


def convolved(module, image, weights):
    """The filtered image, and the stages' times."""
    height, width = image.shape
    size = len(weights)
    kernel = module[f"convolve<{size}, {width}>"]
    block = kernel.max_potential_block_size()  # the block size of the highest occupancy
    grid = 4 * cupola.Device().multiprocessor_count

    stages = Stages()
    on_device, filter_, out = (cupola.empty(a.shape, np.float32) for a in (image, weights, image))
    stages.end("allocate")
    on_device.set(image)
    filter_.set(weights)
    stages.end("copy to the device")
    kernel[grid, block](on_device, filter_, out, height)
    stages.end("convolve")
    result = out.get()
    stages.end("copy to the host")
    # Memory is freed when nothing refers to it. With free() it is at once, and in the stream's
    # order: what was queued before may still use it.
    for array in (on_device, filter_, out):
        array.free()
    stages.end("free")
    return result, stages


def by_numpy(image, weights):
    """The same sum in float32, each product and sum rounded, in the kernel's order."""
    height, width = image.shape
    size = len(weights)
    padded = np.pad(image, size // 2)
    total = np.zeros_like(image)
    for i in range(size):
        for j in range(size):
            total += weights[i, j] * padded[i : i + height, j : j + width]
    return total


def main(path):
    image = photograph()
    height, width = image.shape
    print(f"photograph: {width} x {height} pixels")
    module = cupola.compile(
        SOURCE,
        options=["--fmad=false"],  # rounds as NumPy does, so that the results can be compared
        name_expressions=[f"convolve<{len(w)}, {width}>" for w in FILTERS.values()],
    )
    _, axes = plt.subplots(1, 1 + len(FILTERS), figsize=(10, 4.4), dpi=110, sharey=True)
    pictures = {"before": image}
    for name, weights in FILTERS.items():
        result, stages = convolved(module, image, weights)
        assert np.array_equal(result, by_numpy(image, weights)), "the result is not NumPy's"
        print(f"{name}: as NumPy's, bit for bit\n{stages}")
        pictures[name] = result
    for place, (name, picture) in zip(axes, pictures.items(), strict=True):
        place.imshow(picture, cmap="gray", vmin=0, vmax=1)
        place.set_title(name)
        place.set_xlabel("column")
    axes[0].set_ylabel("row")
    plt.tight_layout()
    plt.savefig(path)
    print(f"saved {path}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "convolution.png")
