"""What a recording must say to make sense: checked before anything is computed from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import numpy as np

from hvm4viz.errors import UnsupportedVersion
from hvm4viz.events import OPERATIONS, ORIGINS, OUTCOMES, REASONS, RunEnd, RunHeader
from hvm4viz.trace import format as fmt
from hvm4viz.trace.arrow import pa
from hvm4viz.trace.columns import Chunk

LEVELS: Final = ("off", "counts", "events", "full")

SPARE_REGIONS: Final = 1 << 16
"""Region numbers beyond the regions known to be in use that are still accepted."""

_EXTENSION_KEY: Final = b"ARROW:extension:name"

_RANGES: Final = {"blocks": (1, 1 << 16), "threads_per_block": (1, 1 << 10), "region_size": (1, 1 << 24)}


def accept_header(facts: dict[str, Any], metadata: Mapping[bytes, memoryview]) -> RunHeader:
    """Build the header of a run from what a file says.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it makes no sense.
    UnsupportedVersion
        If it uses outcomes, reasons, origins or a level that this version does not know.
    """
    for name, known in fmt.TABLES_OF_CODES.items():
        found = facts.get(name, []) if name == "operations" else facts[name]  # format 1 has no operations
        if tuple(found) != known[: len(found)]:
            raise UnsupportedVersion(f"the trace has other {name} than this version of hvm4viz knows; update hvm4viz")
    level = accept_level(facts)
    accept_threads(facts)
    limit = facts["limit"]
    texts = fmt.unpack_texts(metadata[fmt.FILES_KEY])
    regions = fmt.unpack_array(metadata[fmt.REGIONS_KEY], "<u4")
    heap = fmt.unpack_array(metadata[fmt.HEAP_KEY] if level == "full" else b"", "<u8")
    if heap.size > regions.size * facts["region_size"]:
        raise ValueError(f"the heap has {heap.size:,} cells, more than its {regions.size:,} regions")
    if regions.max(initial=0) >= facts["blocks"]:
        raise ValueError(f"a region belongs to block {regions.max():,}, the machine has {facts['blocks']:,}")
    units = tuple(map(_whole_number, facts.get("units", [0])))
    if any(not 0 <= place < max(len(texts) // 2, 1) for place in units):
        raise ValueError(f"the units {str(units)[:40]} are no places among {len(texts) // 2} files")
    machine = facts["machine"]
    if not isinstance(machine, dict):
        raise TypeError("the machine is no object")
    return RunHeader(
        source=tuple(zip(texts[::2], texts[1::2], strict=True)),
        entry=_text(facts["entry"]),
        mode=_text(facts["mode"]),
        limit=None if limit is None else _whole_number(limit),
        machine=cast("dict[str, object]", machine),
        rules=accept_names(facts["rules"]),
        blocks=facts["blocks"],
        threads_per_block=facts["threads_per_block"],
        region_size=facts["region_size"],
        regions=regions,
        device=_text(facts["device"]),
        kernel=_text(facts["kernel"]),
        heap=heap,
        root=_whole_number(facts.get("root", 0)),
        stamps=_whole_number(facts.get("stamps", 0)),
        units=units,
        skipped=_whole_number(facts.get("skipped", 0)),
    )


def accept_level(facts: dict[str, Any]) -> str:
    """Take the level of a recording.

    Raises
    ------
    UnsupportedVersion
        If this version does not know it.
    """
    level = facts["level"]
    if level not in LEVELS:
        raise UnsupportedVersion(f"this version of hvm4viz knows no level {level!r}; update hvm4viz")
    return level


def accept_threads(facts: dict[str, Any]) -> int:
    """Take the number of logical threads.

    Raises
    ------
    ValueError, TypeError
        If it makes no sense.
    """
    for name, (low, high) in _RANGES.items():
        if not low <= _whole_number(facts[name]) <= high:
            raise ValueError(f"{name} is {facts[name]}, it must be from {low} to {high:,}")
    return facts["blocks"] * facts["threads_per_block"]


def accept_end(facts: dict[str, Any], metadata: Mapping[bytes, memoryview]) -> RunEnd | None:
    """Build the end of a run from what a file says; None if the recording stopped before the run.

    Raises
    ------
    ValueError, KeyError, TypeError
        If it makes no sense.
    """
    if facts["digest"] is not None:
        _text(facts["digest"])
    if "status" not in facts:
        return None
    return RunEnd(
        status=_text(facts["status"]),
        message=_text(facts["message"]),
        lines=fmt.unpack_texts(metadata[fmt.LINES_KEY]),
        log=fmt.unpack_texts(metadata[fmt.LOG_KEY]),
    )


def extension_type(schema: Any) -> str:
    """Tell which column, or field inside one, is of an Arrow extension type: empty if none is.

    One that this process does not know shows as its plain type, and says in the field's metadata what it claims to be.
    """
    todo: list[tuple[str, Any]] = [(field.name, field) for field in schema]
    while todo:
        path, field = todo.pop()
        kind: Any = field.type
        metadata: Mapping[bytes, bytes] = field.metadata or {}
        claim = metadata.get(_EXTENSION_KEY)
        if isinstance(kind, pa.BaseExtensionType):
            claim = str(kind.extension_name).encode("utf-8", "replace")
        if claim is not None:
            return f"column {path[:80]!r} is of the extension type {claim.decode('utf-8', 'replace')[:80]!r}"
        todo += ((f"{path}.{kind.field(i).name}", kind.field(i)) for i in range(kind.num_fields))
    return ""


def accept_names(names: object) -> tuple[str, ...]:
    """Take a list of names.

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if not isinstance(names, list):
        raise TypeError(f"{names!r} is no list of names")
    return tuple(map(_text, cast("list[object]", names)))


class Bounds:
    """Bounds on the numbers of one recording, so that no array of ours grows beyond what was really there."""

    def __init__(self, header: RunHeader) -> None:
        self.header = header
        self.regions_max = header.regions.size + SPARE_REGIONS

    def accept(self, chunk: Chunk, n_devices: int) -> None:
        """Check the numbers of a chunk.

        Raises
        ------
        ValueError
            If one of them is out of its bounds.
        """
        header = self.header
        self.regions_max += chunk.tables["given"].n_values
        bounds = {
            ("outcomes", "outcome"): len(OUTCOMES),
            ("rules", "rule"): len(header.rules),
            ("cells", "region"): self.regions_max,
            ("remote", "region"): self.regions_max,
            ("given", "region"): self.regions_max,
            ("given", "block"): header.blocks,
            ("pairs", "home"): self.regions_max,
            ("pairs", "owner"): self.regions_max,
            ("events", "thread"): header.blocks * header.threads_per_block,
            ("events", "loc"): self.regions_max * header.region_size,
            ("events", "slot"): self.regions_max * header.region_size,
            ("events", "outcome"): len(OUTCOMES),
            ("events", "reason"): len(REASONS),
            ("events", "side"): 2,
            ("events", "origin"): len(ORIGINS),
            ("ops", "slot"): self.regions_max * header.region_size,
            ("ops", "op"): len(OPERATIONS),
            ("ops", "side"): 2,
            ("deltas", "cell"): self.regions_max * header.region_size,
            ("image", "cell"): self.regions_max * header.region_size,
        }
        if chunk.rows["device"].max(initial=0) >= max(n_devices, 1):
            raise ValueError("a pass ran on a device without a name")
        for (table, name), bound in bounds.items():
            if table not in chunk.tables:
                continue
            column = chunk.tables[table].column(name)
            if column.size and column.max() >= bound:
                raise ValueError(f"{table}: {name} {column.max():,} is not below {bound:,}")


def accept_operations(chunk: Chunk) -> None:
    """Check that each operation belongs to an event of its pass; a pass in several batches is looked at as a whole.

    Raises
    ------
    ValueError
        If one does not.
    """
    ops = chunk.tables.get("ops")
    if ops is None or not ops.n_values:
        return
    lengths = np.diff(chunk.tables["events"].offsets)
    if (ops.column("event") >= lengths[ops.rows()]).any():
        raise ValueError("ops: an event is none of its pass")


def _whole_number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is no whole number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
