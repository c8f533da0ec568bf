"""All-reduce of cupola's arrays by NCCL beside torch.distributed, a process a GPU

python benchmarks/bench_nccl.py [--out FOLDER] [--rounds N]

Both take turns in the same processes. Without PyTorch, cupola's times have no floor. On the CPU
device nothing is measured, and the exit status is 77.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import records

import cupola
from cupola import nccl

NOT_RUN = 77  # exit status
RANKS = 2
SIZES = [1 << 10, 16 << 10, 256 << 10, 1 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30]
LARGE = 16 << 20  # bytes; only the bandwidth of larger messages is compared
OURS, FLOOR = "cupola.nccl", "torch.distributed"
GOAL = "ratio <= 1.053"  # 95 % of the bandwidth
SECONDS = 100


def exchanged(folder, rank):
    """The identifier that rank 0 made, through a file."""
    path = folder / "identifier"
    if rank == 0:
        path.with_suffix(".new").write_bytes(nccl.UniqueId())
        path.with_suffix(".new").rename(path)
    end = time.monotonic() + 60
    while not path.exists():
        if time.monotonic() > end:
            sys.exit("rank 0 made no identifier within 60 seconds")
        time.sleep(0.01)
    return nccl.UniqueId(path.read_bytes())


def torch_way(folder, rank):
    """A function that prepares a size: it gives a call and a wait. None without PyTorch."""
    try:
        import torch
        import torch.distributed as dist
    except ImportError:
        return None
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl", init_method=f"file://{folder}/torch", rank=rank, world_size=RANKS
    )

    def prepare(count):
        x = torch.zeros(count, device=f"cuda:{rank}")
        return lambda: dist.all_reduce(x), torch.cuda.synchronize

    return prepare


def cupola_way(communicator, stream):
    def prepare(count):
        x = cupola.empty(count, np.float32)
        x.fill(communicator.rank + 1, stream=stream)
        communicator.all_reduce(x, x, stream=stream)
        stream.synchronize()
        if not bool((x == sum(range(1, RANKS + 1))).all().item()):
            sys.exit(f"all-reduce of {count} elements: wrong on rank {communicator.rank}")
        x.fill(0, stream=stream)
        return lambda: communicator.all_reduce(x, x, stream=stream), stream.synchronize

    return prepare


def measure(folder, rank, rounds):
    """Seconds of a call by size and way, one for each round, as this rank has them."""
    device = cupola.Device(rank)
    found = {}
    with device:
        torch = torch_way(folder, rank)  # first: it loads the NCCL that it comes with
        with nccl.Communicator(RANKS, rank, exchanged(folder, rank), device) as communicator:
            stream, one = cupola.Stream(non_blocking=True), cupola.zeros(1)
            device.synchronize()
            ways = {FLOOR: torch, OURS: cupola_way(communicator, stream)}
            for size in SIZES:
                ready = {name: way(size // 4) for name, way in ways.items() if way}
                calls = max(5, min(200, (1 << 31) // size))
                seconds = {name: [] for name in ready}
                for round_ in range(rounds + 1):
                    for name, (call, wait) in ready.items():
                        communicator.all_reduce(one, one, stream=stream)  # the ranks start together
                        device.synchronize()
                        start = time.perf_counter()
                        for _ in range(calls):
                            call()
                        wait()
                        if round_:
                            seconds[name].append((time.perf_counter() - start) / calls)
                found[size] = seconds
        if torch:
            sys.modules["torch.distributed"].destroy_process_group()
    version = ".".join(map(str, nccl.version()))
    (folder / f"{rank}.json").write_text(json.dumps({"nccl": version, "seconds": found}))


def both_ranks(rounds):
    """The results of both; they are ended when one fails."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--rounds", str(rounds), "--folder", folder, "--rank"]
        ranks = [subprocess.Popen([*command, str(rank)]) for rank in range(RANKS)]
        end = time.monotonic() + SECONDS
        try:
            while None in (states := [one.poll() for one in ranks]):
                if any(states) or time.monotonic() > end:
                    sys.exit(f"the ranks ended with {states} (None: it still runs)")
                time.sleep(0.1)
            if any(states):
                sys.exit(f"the ranks ended with {states}")
            return [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(RANKS)]
        finally:
            for one in ranks:
                one.kill()
                one.wait()


def size_text(size):
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if size >= scale:
            return f"{size // scale} {unit}"
    return f"{size >> 10} KiB"


def rows_of(answers):
    """Rows of each size: the slower rank's time of each round."""
    rows = []
    for size in SIZES:
        of_ranks = [one["seconds"][str(size)] for one in answers]
        seconds = {
            name: [max(times) for times in zip(*(one[name] for one in of_ranks), strict=True)]
            for name in of_ranks[0]
        }
        goals = {OURS: GOAL} if size >= LARGE and FLOOR in seconds else None
        made = records.medians(seconds, "us", goals)
        for row in made:
            row.note = f"{size / row.value / 1e3:.1f} GB/s"
        rows += records.titled(f"all-reduce of {size_text(size)} of float32", made)
    return rows


def main():
    parser = records.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rank", type=int, help="measure as this rank")
    parser.add_argument("--folder", type=Path, help="where the ranks find each other")
    options = parser.parse_args()
    name, about = records.cupola_device()
    if cupola.driver.info().kind == "cpu":
        print("not run: NCCL needs GPUs, and this is the CPU device")
        sys.exit(NOT_RUN)
    if options.rank is not None:
        measure(options.folder, options.rank, options.rounds)
        return
    if len(cupola.devices()) < RANKS:
        sys.exit(f"{RANKS} GPUs are needed, and there is {len(cupola.devices())}")
    answers = both_ranks(options.rounds)
    extra = {**about, "NCCL": answers[0]["nccl"]}
    records.publish(
        options.out, __file__, __doc__, rows_of(answers),
        device=f"{RANKS} x {name}", extra=extra,
    )  # fmt: skip


if __name__ == "__main__":
    main()
