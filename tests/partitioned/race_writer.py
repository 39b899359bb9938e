"""A process that writes batches to all partitions until it is killed; it prints what is committed."""

from __future__ import annotations

import random
import sys
import time

import pyarrow as pa

from lance_namespace_impls import connect

SCHEMA = pa.schema([("p", pa.int64()), ("batch", pa.string()), ("of", pa.int64())])


def main(root: str, name: str, partitions: int, seconds: float) -> None:
    """Write batches; each has one row in some of the partitions, and says in how many."""
    there = connect("dir", {"path": root, "manifest": "true"}).partitioned("events")
    end, number = time.monotonic() + seconds, 0
    print("ready", flush=True)
    while time.monotonic() < end:
        chosen = random.sample(range(partitions), random.randint(2, min(8, partitions)))
        batch = f"{name}-{number}"
        rows = {"p": chosen, "batch": [batch] * len(chosen), "of": [len(chosen)] * len(chosen)}
        print(f"start {batch}", flush=True)
        there.write(pa.table(rows, schema=SCHEMA))
        print(f"done {batch}", flush=True)
        number += 1


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
