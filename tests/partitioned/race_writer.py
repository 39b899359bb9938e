"""A process that writes batches to random partitions until it is killed or a stop file exists."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pyarrow as pa

from lance_namespace_impls import connect

SCHEMA = pa.schema([("p", pa.int64()), ("batch", pa.string()), ("of", pa.int64())])


def main(root: str, name: str, partitions: int) -> None:
    """Write batches; each has one row in several partitions, and contains their number."""
    there = connect("dir", {"path": root, "manifest": "true"}).partitioned("events")
    number, stop = 0, Path(root).with_name("stop")
    print(f"ready {name}", flush=True)
    while not stop.exists():
        chosen = random.sample(range(partitions), random.randint(2, min(8, partitions)))
        batch = f"{name}-{number}"
        rows = {"p": chosen, "batch": [batch] * len(chosen), "of": [len(chosen)] * len(chosen)}
        print(f"start {batch}", flush=True)
        there.write(pa.table(rows, schema=SCHEMA))
        print(f"done {batch}", flush=True)
        number += 1


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
