"""``hvm4viz sweep``: programs by machines by devices, as a table in a file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Final

from hvm4viz.arguments import add_options, add_series
from hvm4viz.commands import CODES, DEVICE, USAGE
from hvm4viz.options import RECORDS, options
from hvm4viz.settings import Machine
from hvm4viz.streams import complain, note, put
from hvm4viz.wording import in_shell_words

_SINGLE: Final = ("mode", "limit", "entry", "max_passes", "timeout", "seed")
FORMATS: Final = (".parquet", ".csv", ".arrow")


def add_sweep(verbs: Any) -> None:
    """Add the command to the parser of the command line."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        "sweep",
        help="run programs on many machines; one table, a row a run",
        description="Run programs on every combination of settings: one table, a row a run. Settings of the machine "
        "and devices may be given as several values with commas between them. Finished runs are kept: the same command "
        "goes on where another one was stopped.",
        allow_abbrev=False,
    )
    parser.add_argument("programs", nargs="+", metavar="PROGRAM", help="a name or a file")
    parser.add_argument("-o", "--out", metavar="FILE", help=f"{', '.join(FORMATS)} (default: CSV to standard output)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each combination (default: 1)")
    parser.add_argument("--processes", type=int, metavar="N", help="runs at the same time (default: one a core)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="host threads of each run (default: 1)")
    parser.add_argument("--record", choices=RECORDS, default="counts", help="how much to record (default: counts)")
    parser.add_argument("--primitives", metavar="MODULES", default="", help="modules that register primitives")
    parser.add_argument("--cache", metavar="DIR", help="folder that keeps finished runs (default: in the user's cache)")
    parser.add_argument("--no-cache", action="store_true", help="keep nothing, and run everything")
    add_series(parser, "shell", targets=("machine",), also=("device",))
    add_options(parser, "shell", only=_SINGLE)
    parser.set_defaults(command=sweep)


def sweep(given: argparse.Namespace) -> int:
    """Sweep; write the table, and tell what is not done."""
    from hvm4viz.bench.programs import samples
    from hvm4viz.sweeps import sweep as sweep_programs

    write = _writer(given.out)
    series = {o.dest: getattr(given, o.dest) for o in options("shell") if o.target == "machine"}
    chosen = {name: values for name, values in series.items() if values is not None}
    machines = [Machine(**dict(zip(chosen, each, strict=True))) for each in product(*chosen.values())]
    single = {name: getattr(given, name) for name in _SINGLE if getattr(given, name) is not None}
    table = sweep_programs(
        samples(given.programs),
        machines,
        given.device or ("auto",),
        repeat=given.repeat,
        workers=given.workers,
        record=given.record,
        processes=given.processes,
        cache=False if given.no_cache else given.cache,
        primitives=[name for name in given.primitives.split(",") if name],
        **single,
    )
    table = _told(table, given)
    write(table)
    if given.out:
        note(f"table: {given.out}, {table.num_rows:,} runs")
    codes = {**CODES, "refused": USAGE, "lost": DEVICE}
    stopped = [each for each in table.select(["program", "machine", "status", "error"]).to_pylist() if each["error"]]
    for each in stopped:
        complain(f"{each['program']}, {each['machine']}: {each['status'].replace('_', ' ')}: {each['error']}")
    return next((codes[each["status"]] for each in stopped), 0)


def _told(table: Any, given: argparse.Namespace) -> Any:
    """Return the table with its errors in the words of the command line."""
    place = table.schema.get_field_index("error")
    field = table.schema.field(place)
    errors = [error and in_shell_words(error, given) for error in table["error"].to_pylist()]
    return table.set_column(place, field, import_module("pyarrow").array(errors, field.type))


def _writer(out: str | None) -> Callable[[Any], None]:
    """Return what writes the table; refuse a file of an ending that is not known before anything runs."""
    if out is None:
        return lambda table: put(_csv(table).rstrip("\n"))
    path = Path(out)
    if path.suffix not in FORMATS:
        raise ValueError(f"{out!r}: a table ends in {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise ValueError(f"{out!r}: there is no folder {str(path.parent)!r}")

    def write(table: Any) -> None:
        from hvm4viz.trace.whole import whole_file

        with whole_file(path, overwrite=True, what="table") as part:
            if path.suffix == ".csv":
                part.write_bytes(_csv(table).encode())
            elif path.suffix == ".parquet":
                import_module("pyarrow.parquet").write_table(table, part)
            else:
                import_module("pyarrow.feather").write_feather(table, str(part), compression="uncompressed")

    return write


def _csv(table: Any) -> str:
    pa, csv = import_module("pyarrow"), import_module("pyarrow.csv")
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink)
    return sink.getvalue().to_pybytes().decode()
