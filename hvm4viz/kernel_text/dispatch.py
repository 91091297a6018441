"""Write the dispatch of the kernel from the headers of the rules: one switch over frames, one over values inside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from hvm4viz.rules import Rule

_CTR = "C00: " + " ".join(f"case C00 + {n}u:" for n in range(1, 16)) + " case C16"

Cells = dict[str, dict[str, list[int]]]
"""Numbers of the rules for each frame, or ``enter``, and value."""


@lru_cache(maxsize=8)  # those who watch share it
def dispatch(rules: tuple[Rule, ...]) -> str:
    """Write ``step_dispatch(frame, tag)``, ``step_has_rule`` and ``step_enter_rule``."""
    cells = _cells(rules)
    enter = cells.pop("enter", {})
    out = [
        "// generated from kernels/rules",
        "FUNC void step_count(THREAD Worker* w, uint rule) {",
        "  w->spent += 1u;",
        "  if (COUNTS_ALWAYS || (heap_flags(w) & PARAM_COUNT) != 0u) w->rules[rule] += 1u;",
        "}",
        "",
    ]
    bodies: dict[str, str] = {}
    frames: dict[str, list[str]] = {}
    for frame, values in cells.items():
        groups = _groups(rules, values)
        key = repr(groups)
        name = bodies.get(key)
        if name is None:
            name = f"step_on_{frame.lower()}"
            bodies[key] = name
            out.append(f"FUNC bool {name}(THREAD Worker* w, uint tag) {{")
            out.append("  switch (tag) {")
            for numbers, names in groups.items():
                out += _on_values(rules, numbers, names)
                if rules[numbers[-1]].when:
                    out.append("      return false;")
            out += ["    default: return false;", "  }", "}", ""]
        frames.setdefault(name, []).append(frame)
    out += ["FUNC bool step_dispatch(THREAD Worker* w, uint frame, uint tag) {", "  switch (frame) {"]
    out += [f"    {_frame_cases(names)} return {name}(w, tag);" for name, names in frames.items()]
    out += ["    default: return false;", "  }", "}", ""]
    out += [
        "// Does any rule fire for this frame and value?",
        "FUNC bool step_has_rule(uint frame, uint tag) {",
        "  switch (frame) {",
    ]
    for frame, values in cells.items():
        out.append(f"    {_frame_cases([frame])}")
        out.append(f"      switch (tag) {{ {_value_cases(values)} return true; default: return false; }}")
    out += ["    default: return false;", "  }", "}", ""]
    out += [
        "// Rules that fire on entering a term.",
        "FUNC bool step_enter_rule(THREAD Worker* w, uint tag) {",
        "  switch (tag) {",
    ]
    for value, numbers in enter.items():
        out += _on_values(rules, tuple(numbers[:1]), [value])
    out += ["    default: return false;", "  }", "}", ""]
    return "\n".join(out)


def near_dispatch(rules: tuple[Rule, ...]) -> str:
    """Write the dispatch of the near loop (``kernels/near.h``): whatever is no rule of it leaves."""
    cells = _cells(rules)
    cells.pop("enter", None)
    out = [
        "// generated from kernels/rules",
        "FUNC bool step_dispatch(THREAD Near* w, uint frame, uint tag) {",
        "  switch (frame) {",
    ]
    bodies: dict[tuple[str, ...], list[str]] = {}
    for frame, values in cells.items():
        body: list[str] = []
        for numbers, names in _groups(rules, values).items():
            if not any(rules[number].is_near for number in numbers):
                continue
            body += _on_values(rules, numbers, names, leaves="return task_leaves(w);")
            if rules[numbers[-1]].when:
                body.append("      return false;")
        if body:
            bodies.setdefault(tuple(body), []).append(frame)
    for lines, names in bodies.items():
        out += [f"    {_frame_cases(names)}", "    switch (tag) {", *lines, "    default: return false;", "    }"]
    out += ["    default: return false;", "  }", "}", ""]
    return "\n".join(out)


def _cells(rules: tuple[Rule, ...]) -> Cells:
    cells: Cells = {}
    for number, rule in enumerate(rules):
        for frame in rule.frames:
            for value in rule.values:
                cells.setdefault(frame, {}).setdefault(value, []).append(number)
    return cells


def _groups(rules: tuple[Rule, ...], values: Mapping[str, list[int]]) -> dict[tuple[int, ...], list[str]]:
    """Return the values that the same rules fire on, those with a condition first."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for value, numbers in values.items():
        groups.setdefault(tuple(sorted(numbers, key=lambda n: (not rules[n].when, n))), []).append(value)
    return groups


def _on_values(
    rules: tuple[Rule, ...], numbers: tuple[int, ...], values: Iterable[str], *, leaves: str = ""
) -> list[str]:
    """Write what the rules of a group do; with ``leaves``, that in place of those that are not near."""
    out = [f"    {_value_cases(values)}"]
    for number in numbers:
        rule = rules[number]
        indent = "        " if rule.when else "      "
        call = [indent + leaves] if leaves and not rule.is_near else _call(rule, number, indent)
        out += [f"      if ({rule.when}) {{", *call, "      }"] if rule.when else call
    return out


def _call(rule: Rule, number: int, indent: str) -> list[str]:
    """Reserve room, count and apply: a rule happens entirely, or not at all."""
    lines: list[str] = []
    if not rule.takes_closure and rule.values not in {("NUM",), ("ERA",)}:
        lines.append("if (!hand_node(w)) return true;")
    if rule.words != "0":
        lines += [
            "{",
            "  const uint arity = term_arity(w->hand), slot = w->slot_cells, lam = w->lam_cells;",
            "  (void)arity; (void)slot; (void)lam;",
            f"  if (!heap_room(w, {rule.words}, arity > 4u ? arity : 4u)) return true;",
            "}",
        ]
    lines += [f"step_count(w, {number}u);", f"rule_{rule.file}(w);", "return true;"]
    return [indent + line for line in lines]


def _frame_cases(names: Iterable[str]) -> str:
    return " ".join(f"case F_{name}:" for name in names)


def _value_cases(values: Iterable[str]) -> str:
    return " ".join(f"case {_CTR if value == 'CTR' else value}:" for value in values)
