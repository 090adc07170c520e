"""The command: edges in Parquet in, the rows of their minimum spanning forest in Parquet out.

    python -m kostra.spark IN OUT [--src NAME] [--dst NAME] [--weight NAME | --unit-weights] [--id NAME] ...

or, on a cluster, this file with spark-submit:

    spark-submit "$(python -c 'import kostra.spark as s; print(s.__path__[0])')/__main__.py" IN OUT ...
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from kostra.spark import FAN_IN, MAX_VERTICES_IN_MEMORY, minimum_spanning_forest


def main() -> int:
    arguments = parse_arguments()
    try:
        run(arguments)
    except Exception as error:
        print(f"kostra.spark: {cause(error)}", file=sys.stderr)
        return 1
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="kostra.spark", description="The minimum spanning forest of edges in Parquet, as Parquet, on Spark."
    )
    parser.add_argument("input", metavar="IN", help="Parquet, a row an edge: a file or a folder, anywhere Spark reads")
    parser.add_argument("output", metavar="OUT", help="the folder for the forest's rows, with all their columns")
    parser.add_argument("--src", default="src", help="the column of first ends (src)")
    parser.add_argument("--dst", default="dst", help="the column of second ends (dst)")
    weights = parser.add_mutually_exclusive_group()
    weights.add_argument("--weight", default="weight", help="the column of weights (weight)")
    weights.add_argument("--unit-weights", action="store_true", help="every edge weighs 1")
    parser.add_argument("--id", help="a column that settles ties; without it the ends do")
    parser.add_argument("--maximum", action="store_true", help="the maximum spanning forest")
    parser.add_argument(
        "--max-vertices-in-memory",
        type=int,
        default=MAX_VERTICES_IN_MEMORY,
        metavar="N",
        help=f"how many fit the memory of a task ({MAX_VERTICES_IN_MEMORY})",
    )
    parser.add_argument("--fan-in", type=int, default=FAN_IN, metavar="N", help=f"forests that a task merges ({FAN_IN})")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT where it exists")
    return parser.parse_args()


def run(arguments: argparse.Namespace) -> None:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ImportError("this needs PySpark: pip install pyspark pyarrow") from error
    spark = SparkSession.builder.appName("kostra").getOrCreate()
    # Before hours of work, not after them.
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(arguments.output)
    found = path.getFileSystem(spark._jsc.hadoopConfiguration()).exists(path)
    if found and not arguments.overwrite:
        raise ValueError(f"{arguments.output} exists; --overwrite replaces it")
    if arguments.input.rstrip("/") == arguments.output.rstrip("/"):
        raise ValueError(f"{arguments.input} cannot be both IN and OUT")
    forest = minimum_spanning_forest(
        spark.read.parquet(arguments.input),
        arguments.src,
        arguments.dst,
        None if arguments.unit_weights else arguments.weight,
        arguments.id,
        maximum=arguments.maximum,
        max_vertices_in_memory=arguments.max_vertices_in_memory,
        fan_in=arguments.fan_in,
    )
    forest.write.mode("overwrite" if arguments.overwrite else "errorifexists").parquet(arguments.output)


def cause(error: Exception) -> str:
    """One line: what a worker raised where one did, else what Spark says first."""
    text = str(error)
    raised = re.findall(r"^(?:ValueError|ImportError|ModuleNotFoundError|MemoryError): (.+)$", text, re.MULTILINE)
    return raised[-1] if raised else text.strip().partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
