"""Put this folder on PYTHONPATH to have Spark's Python workers forked with what they all import.

Spark asks a new worker for each plan of a Python data source, and its import of pandas takes longer than
most plans here; a worker collects garbage after each task, looking through all that it imported. pylance
is left to the workers: it is not to be forked.
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
