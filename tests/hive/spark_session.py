"""Spark SQL on a metastore, in a separate process; prints the results of statements as JSON.

python -m tests.hive.spark_session URI FOLDER < statements.json
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from lance_namespace_impls.spark.java import use_java


def main(uri: str, folder: str) -> None:
    use_java()
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.catalogImplementation", "hive")
        .config("spark.sql.warehouse.dir", f"file:{folder}/warehouse")
        .config("spark.hadoop.hive.metastore.uris", uri)
        .getOrCreate()
    )
    answers = []
    for statement in json.load(sys.stdin):
        answers.append([list(row) for row in spark.sql(statement).collect()])
    json.dump(answers, sys.stdout)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
