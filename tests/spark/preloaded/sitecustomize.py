"""Put this folder on PYTHONPATH to fork Spark's Python workers with their imports already loaded.

Spark starts a new worker for each plan of a Python data source, and its import of pandas takes
longer than most plans here. A worker collects garbage after each task, which scans everything that
it has imported. Workers import pylance themselves, because it must not be forked.
"""

import gc
import sys

if "pyspark.daemon" in sys.orig_argv:
    import pandas  # noqa: F401
    import pyarrow.dataset  # noqa: F401
    import pyspark.sql.worker.plan_data_source_read
    import pyspark.worker  # noqa: F401

    gc.collect()
    gc.freeze()
