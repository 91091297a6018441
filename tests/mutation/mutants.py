"""Small faults for Python code: each mutant is one module with one expression or statement changed.

What is changed lies in the body of a function, or is the value of a constant of the module. Left alone: annotations,
docstrings, what an exception says, ``assert``, and what type checkers alone see.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault.

    Attributes
    ----------
    path : str
        File, from the root of the repository.
    scope : str
        Qualified name of the outermost function, or of the constant.
    line : int
    before, after : str
        The statement as it is, and as it is changed.
    is_constant : bool
        Whether it changes a constant of the module.
    source : str
        Text of the module.
    number, turn : int
        Which place in it is changed, and how.
    """

    path: str
    scope: str
    line: int
    before: str
    after: str
    is_constant: bool
    source: str
    number: int
    turn: int

    def tree(self) -> ast.Module:
        """Return the whole module with the fault."""
        tree = ast.parse(self.source)
        place = next(place for number, (_, _, place) in enumerate(_all_places(tree)) if number == self.number)
        new = _new(place.node, self.turn)
        if new is not place.node:
            ast.copy_location(new, place.node)
            _put(tree, place.node, new)
        return ast.fix_missing_locations(tree)

    @property
    def name(self) -> str:
        """What tells it from all others: where it is, and what it changes."""
        return f"{self.path}::{self.scope}: {self.before} => {self.after}"


def mutants(root: Path, path: Path) -> Iterator[Mutant]:
    """Make every mutant of a module, one after the other, in the order of the text."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    shown = path.relative_to(root).as_posix()
    seen: dict[str, int] = {}
    for number, (scope, is_constant, place) in enumerate(_all_places(tree)):
        for turn in range(_turns(place.node)):
            before, after = _shown(place.statement), _shown(_changed(place, turn))
            key = f"{scope}: {before} => {after}"
            seen[key] = seen.get(key, 0) + 1
            after += f"  #{seen[key]}" * (seen[key] > 1)
            line: int = getattr(place.node, "lineno", place.statement.lineno)
            yield Mutant(shown, scope, line, before, after, is_constant, source, number, turn)


def _all_places(tree: ast.Module) -> Iterator[tuple[str, bool, _Place]]:
    for scope, top, is_constant in _scopes(tree):
        for place in _places(top):
            yield scope, is_constant, place


def _scopes(tree: ast.Module) -> Iterator[tuple[str, ast.stmt, bool]]:
    """Name every function that is in no other one, and every constant that is a plain expression."""
    for node in tree.body:
        if isinstance(node, Function):
            yield node.name, node, False
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{part.name}", part, False) for part in node.body if isinstance(part, Function))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and not target.id.startswith("__"):
                yield target.id, node, True


@dataclass(frozen=True, slots=True)
class _Place:
    """A node that can be changed: its number in the walk over the module, the statement around it."""

    node: ast.AST
    statement: ast.stmt


def _places(top: ast.stmt) -> Iterator[_Place]:
    """Go through what may be changed below a function or an assignment."""
    body = top.body if isinstance(top, Function) else [top]
    todo: list[tuple[ast.AST, ast.stmt]] = [(part, part) for part in reversed(body)]
    while todo:
        node, statement = todo.pop()
        if _is_left_alone(node):
            continue
        yield _Place(node, statement)
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.AnnAssign):
            children = [node.value] if node.value is not None else []
        elif isinstance(node, Function | ast.Lambda):
            children = list(node.body) if isinstance(node, Function) else [node.body]
        elif isinstance(node, ast.Raise):
            children = []
        todo += [(child, child if isinstance(child, ast.stmt) else statement) for child in reversed(children)]


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom | ast.ClassDef | ast.JoinedStr):
        return True
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _turns(node: ast.AST) -> int:
    """How many changes there are of a node."""
    match node:
        case ast.Compare(ops=ops):
            return len(ops)
        case ast.BinOp(op=op):
            return int(type(op) in _OPERATORS)
        case ast.Constant(value=bool()):
            return 1
        case ast.Constant(value=int()):
            return 2
        case ast.Slice(lower=lower, upper=upper):
            return int(lower is not None) + int(upper is not None)
        case ast.Return(value=value):
            return int(value is not None and not (isinstance(value, ast.Constant) and value.value is None))
        case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Delete():
            return 1
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return int(not _is_not(test))  # else that is left out
        case ast.BoolOp() | ast.Break() | ast.Continue():
            return 1
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            return 1
        case _:
            return 0


def _changed(place: _Place, turn: int) -> ast.stmt:
    """Return a copy of the statement around a place with that place changed."""
    memo: dict[int, object] = {}
    whole = ast.Module([copy.deepcopy(place.statement, memo)], [])
    node = memo[id(place.node)]
    assert isinstance(node, ast.AST)
    new = _new(node, turn)
    if new is not node:
        _put(whole, node, new)
    return whole.body[0]


def _new(node: ast.AST, turn: int) -> ast.AST:
    """Change a node in place, or return what is to stand there."""
    match node:
        case ast.Compare():
            node.ops[turn] = _COMPARISONS[type(node.ops[turn])]()
        case ast.BinOp():
            node.op = _OPERATORS[type(node.op)]()
        case ast.Constant(value=bool() as value):
            return ast.Constant(value=not value)
        case ast.Constant(value=int() as value):
            return ast.Constant(value=value + 1 if turn == 0 else value - 1)
        case ast.Slice():
            if turn == 0 and node.lower is not None:
                node.lower = ast.BinOp(node.lower, ast.Add(), ast.Constant(value=1))
            else:
                assert node.upper is not None
                node.upper = ast.BinOp(node.upper, ast.Sub(), ast.Constant(value=1))
        case ast.Return():
            node.value = ast.Constant(value=None)
        case ast.BoolOp(op=op):
            node.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.Break():
            return ast.Continue()
        case ast.Continue():
            return ast.Break()
        case ast.If() | ast.While() | ast.IfExp():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.UnaryOp():
            return node.operand
        case _:
            return ast.Pass()
    return node


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _put(whole: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Put a node in the place of another one."""
    for parent in ast.walk(whole):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
                return
            if isinstance(value, list) and any(part is old for part in value):
                setattr(parent, field, [new if part is old else part for part in value])
                return


def _shown(statement: ast.stmt) -> str:
    """Show a statement in one line; of one that holds others, its head."""
    text = ast.unparse(statement)
    return text.split("\n", 1)[0].strip()[:160]
