"""Launch attributes beside grid and block: clusters, cooperative grids, priorities."""

import images
import numpy as np
import pytest
from test_driver import good
from working import refused

import cupola

SOURCE = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each block adds up its numbers of all rounds. A round begins when all blocks have arrived.
extern "C" __global__ void rounds(int* seen, int* out, int n) {
    cg::grid_group grid = cg::this_grid();
    for (int round = 0; round < n; ++round) {
        if (threadIdx.x == 0) atomicAdd(&seen[round], 1);
        grid.sync();
        if (threadIdx.x == 0 && seen[round] != gridDim.x) out[blockIdx.x] = -1;
    }
    if (threadIdx.x == 0 && out[blockIdx.x] >= 0) out[blockIdx.x] = n;
}

#if __CUDA_ARCH__ >= 900
// Each block writes into the next block's shared memory of its cluster.
extern "C" __global__ void neighbours(int* out) {
    __shared__ int mail;
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    cluster.sync();
    if (threadIdx.x == 0) *cluster.map_shared_rank(&mail, next) = blockIdx.x;
    cluster.sync();
    if (threadIdx.x == 0) out[blockIdx.x] = 100 * cluster.num_blocks() + mail;
}

extern "C" __global__ void follow(const int* in, int* out, int n) {
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + 1;
}
#endif
"""


@pytest.fixture(scope="module")
def module(driver):
    capability = cupola.Device().compute_capability
    source = images.folder() / "attributes.cu"
    source.write_text(SOURCE)
    architecture = 90 if capability >= (9, 0) else 75
    image = images.compiled(
        f"attributes.{architecture}.ptx", source, "-ptx", f"-arch=compute_{architecture}"
    )
    return cupola.load(image)


@pytest.fixture
def clusters(driver):
    if cupola.Device().compute_capability < (9, 0):
        pytest.skip("clusters need compute capability 9.0")


def test_cooperative_grids_wait_for_all_blocks(module):
    n, blocks = 5, 24
    for way in ("launch", "prepare"):
        seen, out = cupola.zeros(n, np.int32), cupola.zeros(blocks, np.int32)
        launched = getattr(module["rounds"], way)(blocks, 64, seen, out, n, cooperative=True)
        if way == "prepare":
            launched()
        np.testing.assert_array_equal(out.get(), np.full(blocks, n))
        np.testing.assert_array_equal(seen.get(), np.full(n, blocks))


def test_a_cooperative_grid_that_is_too_large(module):
    kernel = module["rounds"]
    device = cupola.Device()
    most = kernel.occupancy(64) * device.attribute(16)  # multiprocessors
    out = cupola.zeros(most + 1, np.int32)
    kernel.launch(most, 64, out, out, 0, cooperative=True)
    with refused(cupola.DriverError, saying=("COOPERATIVE_LAUNCH_TOO_LARGE", most, "rounds")):
        kernel.launch(most + 1, 64, out, out, 0, cooperative=True)


@pytest.mark.parametrize("cluster", [1, 2, (4,), (2, 1, 1)])
def test_clusters(module, clusters, cluster):
    blocks = 8
    size = cluster if isinstance(cluster, int) else cluster[0]
    first = np.arange(blocks) // size * size
    expected = 100 * size + first + (np.arange(blocks) - first - 1) % size
    out = cupola.zeros(blocks, np.int32)
    module["neighbours"].launch(blocks, 32, out, cluster=cluster)
    np.testing.assert_array_equal(out.get(), expected)
    out.fill(0)
    launch = module["neighbours"].prepare(blocks, 32, out, cluster=cluster)
    launch()
    launch(stream=cupola.Stream.current())
    np.testing.assert_array_equal(out.get(), expected)


def test_clusters_that_do_not_divide_the_grid(module, clusters):
    out = cupola.zeros(8, np.int32)
    for grid, cluster in ((8, 3), ((4, 2), (2, 4)), (1, 2)):
        with refused(
            cupola.ArgumentError, ValueError, saying=("neighbours", "multiple of cluster")
        ):
            module["neighbours"].launch(grid, 32, out, cluster=cluster)
        with refused(cupola.ArgumentError, ValueError, saying="multiple of cluster"):
            module["neighbours"].prepare(grid, 32, out, cluster=cluster)


@pytest.mark.parametrize(
    "cluster", [0, (0, 1), (2, 0), (0, 0, 0), -1, "2", 1.5, (1, 1, 1, 1), True]
)
def test_clusters_that_are_none(module, clusters, cluster):
    out = cupola.zeros(8, np.int32)
    with refused(cupola.ArgumentError, saying=("neighbours", "cluster")):
        module["neighbours"].launch(8, 32, out, cluster=cluster)


def test_zeros_in_clusters(module, clusters):
    out = cupola.zeros(8, np.int32)
    for cluster in (0, (2, 0), (0, 0, 0)):
        with refused(cupola.ArgumentValueError, saying=("neighbours: cluster", "zero dimension")):
            module["neighbours"].launch(8, 32, out, cluster=cluster)


def test_dependent_launches_see_what_was_written_before(module, clusters):
    n = 1000
    stream = cupola.Stream(non_blocking=True)
    with stream:
        a, b = cupola.zeros(n, np.int32), cupola.zeros(n, np.int32)
        for _ in range(50):
            module["follow"].launch(4, 256, a, b, n, programmatic_dependent_launch=True)
            module["follow"].launch(4, 256, b, a, n, programmatic_dependent_launch=True)
        np.testing.assert_array_equal(a.get(), np.full(n, 100))


def test_priorities_and_carveouts_are_taken(driver):
    module = images.module()
    x = cupola.zeros(1, np.int32)
    for keywords in ({"priority": -1}, {"priority": 10**30}, {"carveout": 0}, {"carveout": 100}):
        module["increment"].launch(1, 1, x, 1, **keywords)
        module["increment"].prepare(1, 1, x, 1, **keywords)()
    assert x.get()[0] == 8


@pytest.mark.parametrize(
    "keywords, saying",
    [
        ({"priority": "high"}, "priority must be an int"),
        ({"priority": True}, "priority must be an int"),
        ({"carveout": 101}, "percentage"),
        ({"carveout": -1}, "percentage from 0 to 100, got -1"),
        ({"carveout": 2**40}, "percentage"),
        ({"carveout": 0.5}, "carve-out must be an int"),
    ],
)
def test_wrong_attributes(driver, keywords, saying):
    kernel = images.module()["increment"]
    x = cupola.zeros(1, np.int32)
    with refused(cupola.ArgumentError, saying=("increment", saying)):
        kernel.launch(1, 1, x, 1, **keywords)
    with refused(cupola.ArgumentError, saying=saying):
        kernel.prepare(1, 1, x, 1, **keywords)
    assert x.get()[0] == 0


@pytest.mark.cpu_only("a GPU has one compute capability")
def test_devices_without_clusters_say_so(driver):
    good(
        """
        import cupola, numpy as np
        kernel = cupola.shipped_kernels()["saxpy"]
        x = cupola.zeros(4, np.float32)
        for keywords in ({"cluster": 1}, {"programmatic_dependent_launch": True}):
            try:
                kernel.launch(1, 32, 1.0, x, x, x, 4, **keywords)
            except cupola.ArgumentError as error:
                assert "need a device of compute capability 9.0 or newer" in str(error), error
                assert "has 7.5" in str(error), error
            else:
                raise SystemExit(f"{keywords} was taken")
        """,
        CUPOLA_DRIVER="cpu",
        CUPOLA_CPU_COMPUTE_CAPABILITY="7.5",
    )


def test_attributes_of_a_kernel(driver):
    kernel = images.module()["increment"]
    attributes = kernel.attributes
    assert attributes.registers == kernel.registers
    assert attributes.max_threads == kernel.max_threads
    assert attributes.shared_bytes == kernel.shared_bytes == 0
    assert attributes.local_bytes == kernel.local_bytes
    assert attributes.max_shared_bytes >= 48 << 10
    assert attributes.ptx_version >= 75 and attributes.binary_version >= 75
