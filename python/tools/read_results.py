"""Read tables of results as they are asked for, until the input ends.

The fuzzer (`crates/fuzzing/tests/it/python.rs`) replaces one file of a results folder, asks for
what is in it, and waits for the answer. An interpreter that ends instead has aborted.
"""

import resource
import sys

# An allocation beyond this fails, instead of taking the memory of the machine.
MEMORY = 8 << 30


def read(folder: str, results: "timeplane.Results", name: str) -> None:
    """Read a table in all ways, or the folder again if its manifest or a summary has changed."""
    if name in ("manifest", "summary"):
        results = timeplane.Results.open(folder)
        str(results)
        results.to_dict()
        repr(results)
        len(results.summary)
        return
    table = results.runs[0].table(name)
    len(table)
    for column in table.columns:
        table[column]
    for frame in (pyarrow.table, polars.DataFrame):
        frame(table)


def main() -> None:
    folder = sys.argv[1]
    results = timeplane.Results.open(folder)
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            read(folder, results, line.strip())
        except Exception as error:  # Any error of Python is an answer.
            text = str(error).splitlines() or [""]
            print(f"error {type(error).__name__}: {text[0]}", flush=True)
        except BaseException as error:  # A panic of Rust arrives as one.
            print(f"panic {type(error).__name__}: {error}".replace("\n", " "), flush=True)
        else:
            print("ok", flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    import polars
    import pyarrow

    import timeplane

    main()
