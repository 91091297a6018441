"""Generators of well-scoped programs: every construct, affine by construction, bounded in size.

A program is made from a stream of small choices, each a number below a bound, 0 the simplest. The stream comes from
Hypothesis (``programs()``), which shrinks it, or from any seeded source (``make_program``), so that long searches need
not pay for Hypothesis.

Terms are generated for a rough kind (number, function, data, anything), so that most eliminators meet what they want
and some meet everything else. Nothing makes sure that a program ends: give the evaluator a step limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

from hypothesis import strategies as st

from tests.oracle.lambda_calculus import App, Lam, Lambda, Var

Kind = Literal["any", "number", "function", "data"]
Below = Callable[[int], int]

FEATURES: Final = (
    "dup",  # duplications with static labels, inline and plain
    "clone",  # cloned variables: automatic labels
    "sup",  # superpositions with static labels
    "label",  # computed labels of superpositions and duplications
    "fork",  # &L λx,y {A; B}
    "operator",
    "case",  # matching on constructors
    "switch",  # matching on numbers
    "use",  # strict functions and strict lets
    "equal",
    "logic",  # short-circuit and/or
    "text",  # strings, characters, unary numbers, lists
    "erase",  # &{} and dead binders
    "any",  # the wildcard
    "name",  # stuck names and stuck applications
    "priority",  # ↑
    "guard",  # ~>
    "unscoped",
    "reference",  # definitions, also undefined ones
    "recursion",  # structural recursion over literal lists
    "log",
)

PLAIN: Final = frozenset(FEATURES) - {"guard", "unscoped", "log"}
"""Features whose results and counts are the same in every order of evaluation."""

NUMBERS: Final = (0, 1, 2, 3, 5, 31, 32, 33, 255, 0xFFFFFF, 0x1000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
OPERATORS: Final = ("+", "-", "*", "/", "%", "&&", "||", "^", "<<", ">>", "~", "==", "!=", "<", "<=", ">", ">=")
LABELS: Final = ("A", "B", "C")
CTRS: Final = (("Nul", 0), ("One", 1), ("Two", 2), ("Tri", 3))
NAMES: Final = ("foo", "bar", "q")
TEXTS: Final = ('""', '"a"', '"hi"', '"é\\n"', '"xyz"')
CHARS: Final = ("'a'", "'λ'", "'\\n'", "'\\''")
UNDEFINED: Final = "@und"


@dataclass(slots=True)
class Variable:
    """A name in scope: the texts of its uses that are left (cloned ones never run out)."""

    kind: Kind
    uses: list[str]
    is_cloned: bool = False


@dataclass(slots=True)
class Maker:
    """Writes one program from a stream of choices."""

    below: Below
    features: Collection[str]
    scope: list[Variable] = field(default_factory=list[Variable])
    names: int = 0
    definitions: list[str] = field(default_factory=list[str])
    is_in_fork: bool = False

    # Choices.

    def one_of(self, *options: str) -> str:
        """Pick one text."""
        return options[self.below(len(options))]

    def is_on(self, *features: str) -> bool:
        """Whether all of these features are on."""
        return all(feature in self.features for feature in features)

    def split(self, size: int, parts: int) -> list[int]:
        """Share a size out."""
        shares = [0] * parts
        for _ in range(max(0, size - 1)):
            shares[self.below(parts)] += 1
        return shares

    # Names.

    def new_name(self) -> str:
        """Draw a name of at most four characters, which even HVM4 tells from all others."""
        self.names += 1
        return f"v{self.names}"

    @contextmanager
    def bound(self, *variables: Variable) -> Iterator[None]:
        """Put variables into scope, and take them out again."""
        self.scope.extend(variables)
        yield
        del self.scope[len(self.scope) - len(variables) :]

    def use_of(self, kind: Kind) -> str | None:
        """Use a variable, one of the wanted kind if there is any."""
        free = [v for v in self.scope if v.uses]
        wanted = [v for v in free if kind == "any" or v.kind in (kind, "any")] or free
        if not wanted:
            return None
        variable = wanted[-1 - self.below(len(wanted))]
        if variable.is_cloned:
            return variable.uses[self.below(len(variable.uses))]
        return variable.uses.pop(self.below(len(variable.uses)))

    # Terms. All of them are atoms of the grammar, so that they stand anywhere.

    def term(self, size: int, kind: Kind = "any") -> str:
        """Write a term of about this many nodes."""
        if size <= 1 or self.below(8) == 0:
            return self.leaf(kind)
        makers = self.makers(kind)
        return makers[self.below(len(makers))](size)

    def leaf(self, kind: Kind) -> str:
        """Write a variable, or a term without fields."""
        used = self.use_of(kind) if self.below(4) else None
        if used is not None:
            return used
        if kind == "number" or (kind == "any" and self.below(2) == 0):
            number = str(NUMBERS[self.below(len(NUMBERS))])
            return self.one_of(number, number, number, number, *self.odd_ones(number))
        if kind == "function":
            return self.leaf_function()
        options = ["#Nul{}", "[]"]
        options += ["&{}"] if self.is_on("erase") else []
        options += ["*"] if self.is_on("any") else []
        options += [f"^{NAMES[self.below(len(NAMES))]}"] if self.is_on("name") else []
        options += [UNDEFINED] if self.is_on("reference") else []
        options += [self.one_of(*TEXTS, *CHARS, "0n", "2n")] if self.is_on("text") else []
        return self.one_of(*options)

    def odd_ones(self, usual: str) -> list[str]:
        """What may come in place of what an eliminator expects."""
        options = ["&{}"] if self.is_on("erase") else []
        options += [f"(↑{usual})"] if self.is_on("priority") else []
        options += [f"&{LABELS[0]}{{{usual}, 1}}"] if self.is_on("sup") else []
        return options

    def leaf_function(self) -> str:
        """Write a small function."""
        name = self.new_name()
        options = [f"(λ{name}. {name})"]
        options += [f"(λ{name}. 1)"] if self.is_on("erase") else []
        options += [f"λ{{0: 1; (λ{name}. {name})}}"] if self.is_on("switch") else []
        options += [f"λ{{#Nul: 2; #One: λ{name}. {name}}}"] if self.is_on("case") else []
        options += [d for d in self.definitions if d.startswith("@f")]
        return self.one_of(*options)

    def makers(self, kind: Kind) -> list[Callable[[int], str]]:
        """What can make a term of a kind; the common ones stand more than once."""
        everywhere: list[tuple[str, Callable[[int], str]]] = [
            ("", lambda size: self.let(size, kind)),
            ("", lambda size: self.call(size, kind)),
            ("dup", lambda size: self.dup(size, kind)),
            ("dup", lambda size: self.dup(size, kind)),
            ("sup", lambda size: self.sup(size, kind)),
            ("sup", lambda size: self.sup(size, kind)),
            ("case", lambda size: self.match(size, kind)),
            ("switch", lambda size: self.switch(size, kind)),
            ("use", lambda size: self.strict(size, kind)),
            ("label", lambda size: self.dynamic_sup(size, kind)),
            ("label", lambda size: self.dynamic_dup(size, kind)),
            ("fork", lambda size: self.fork(size, kind)),
            ("priority", lambda size: f"(↑{self.term(size - 1, kind)})"),
            *[("guard", lambda size: self.guarded(size, kind))] * 4,
            ("unscoped", lambda size: self.unscoped(size, kind)),
        ]
        numbers: list[tuple[str, Callable[[int], str]]] = [
            ("operator", self.operation),
            ("operator", self.operation),
            ("equal", self.equality),
            ("logic", self.connective),
            ("recursion", self.recursive_call),
        ]
        functions: list[tuple[str, Callable[[int], str]]] = [
            ("", self.lam),
            ("", self.lam),
            ("case", self.case_function),
            ("switch", self.switch_function),
            ("use", lambda size: f"λ{{{self.term(size - 1, 'function')}}}"),
            ("dup", self.inline_dup),
        ]
        data: list[tuple[str, Callable[[int], str]]] = [
            ("", self.constructor),
            ("", self.constructor),
            ("text", self.items),
            ("text", lambda size: f"({self.term(size // 2)} <> {self.term(size // 2, 'data')})"),
            ("text", lambda size: f"(1n+{self.term(size - 1, 'data')})"),
            ("name", self.stuck_call),
            ("log", lambda size: f"%log({self.log_text(size)})"),
        ]
        own = {"number": numbers, "function": functions, "data": data, "any": [*numbers, *functions, *data]}[kind]
        both = own + everywhere * 2 if kind == "any" else own * 2 + everywhere
        return [make for feature, make in both if not feature or self.is_on(feature)]

    def lam(self, size: int, body_kind: Kind = "any") -> str:
        """``λx. b``, plain or cloned."""
        name = self.new_name()
        is_cloned = self.is_on("clone") and self.below(3) == 2
        with self.bound(Variable("any", [name], is_cloned)):
            body = self.term(size - 1, body_kind)
        return f"(λ{'&' if is_cloned else ''}{name}. {body})"

    def let(self, size: int, kind: Kind) -> str:
        """``! x = v; b``, plain or cloned, lazy or strict."""
        name, (first, second) = self.new_name(), self.split(size, 2)
        is_cloned = self.is_on("clone") and self.below(2) == 1
        is_strict = self.is_on("use") and self.below(3) == 2
        value_kind = self.some_kind()
        value = self.term(first, value_kind)
        if value.startswith("λ{"):
            value = f"({value})"  # HVM4 takes `= λ` for the unscoped form (row D8)
        with self.bound(Variable(value_kind, [name], is_cloned)):
            body = self.term(second, kind)
        return f"({'!!' if is_strict else '!'} {'&' if is_cloned else ''}{name} = {value}; {body})"

    def some_kind(self) -> Kind:
        """Pick a kind."""
        kinds: tuple[Kind, ...] = ("number", "function", "data", "any")
        return kinds[self.below(len(kinds))]

    def call(self, size: int, kind: Kind) -> str:
        """``f(a)`` with a function that gives this kind."""
        first, second = self.split(size, 2)
        if self.below(3) == 0:
            return f"{self.term(first, 'function')}({self.term(second)})"
        argument_kind = self.some_kind()
        name = self.new_name()
        argument = self.term(second, argument_kind)
        with self.bound(Variable(argument_kind, [name])):
            body = self.term(first, kind)
        return f"(λ{name}. {body})({argument})"

    def dup(self, size: int, kind: Kind) -> str:
        """``! x &L = v; b``."""
        name, (first, second) = self.new_name(), self.split(size, 2)
        value_kind = self.some_kind()
        label = self.one_of(*LABELS, "")
        value = self.term(first, value_kind)
        is_cloned = self.is_on("clone") and self.below(4) == 3
        with self.bound(Variable(value_kind, [f"{name}₀", f"{name}₁"], is_cloned)):
            body = self.term(second, kind)
        return f"(! {'&' if is_cloned else ''}{name} &{label} = {value}; {body})"

    def inline_dup(self, size: int) -> str:
        """``λx&L. b``."""
        name = self.new_name()
        label = self.one_of(*LABELS, "")
        with self.bound(Variable("any", [f"{name}₀", f"{name}₁"])):
            body = self.term(size - 1)
        return f"(λ{name}&{label}. {body})"

    def sup(self, size: int, kind: Kind) -> str:
        """``&L{a, b}``."""
        first, second = self.split(size, 2)
        return f"&{self.one_of(*LABELS)}{{{self.term(first, kind)}, {self.term(second, kind)}}}"

    def label_term(self, size: int) -> str:
        """A term that computes a label: 1, 2, 3 are the static labels a, b, c."""
        return self.one_of("1", "27", "28") if self.below(3) else self.term(size, "number")

    def dynamic_sup(self, size: int, kind: Kind) -> str:
        """``&(l){a, b}``."""
        label, first, second = self.split(size, 3)
        return f"&({self.label_term(label)}){{{self.term(first, kind)}, {self.term(second, kind)}}}"

    def dynamic_dup(self, size: int, kind: Kind) -> str:
        """``! x &(l) = v; b``."""
        label, first, second = self.split(size, 3)
        name, value_kind = self.new_name(), self.some_kind()
        head = f"! {name} &({self.label_term(label)}) = {self.term(first, value_kind)}"
        with self.bound(Variable(value_kind, [f"{name}₀", f"{name}₁"])):
            body = self.term(second, kind)
        return f"({head}; {body})"

    def fork(self, size: int, kind: Kind) -> str:
        """``&L λx,y {A; B}`` applied to its arguments."""
        if self.is_in_fork:
            return self.leaf(kind)
        first, second, *values = self.split(size, 4)
        names = [self.new_name() for _ in range(1 + self.below(2))]
        label = self.one_of(*LABELS)
        arguments = ", ".join(self.term(value) for value in values[: len(names)])
        self.is_in_fork = True
        with self.bound(*[Variable("any", [name]) for name in names]):
            left = self.term(first, kind)
        with self.bound(*[Variable("any", [name]) for name in names]):
            right = self.term(second, kind)
        self.is_in_fork = False
        return f"(&{label} λ{', '.join(names)} {{{left}; {right}}})({arguments})"

    def operation(self, size: int) -> str:
        """``a ∘ b``."""
        first, second = self.split(size, 2)
        sign = self.one_of(*OPERATORS)
        return f"({self.term(first, 'number')} {sign} {self.term(second, 'number')})"

    def equality(self, size: int) -> str:
        """``a === b`` of two terms of one kind, or of one shape."""
        first, second = self.split(size, 2)
        if self.below(2) == 0:
            kind = self.some_kind()
            return f"({self.term(first, kind)} === {self.term(second, kind)})"
        shape = self.below(5)
        return f"({self.shaped(shape, first)} === {self.shaped(shape, second)})"

    def shaped(self, shape: int, size: int) -> str:
        """A term whose outermost node is given."""
        if shape == 0:
            return f"#Two{{{self.term(size // 2)}, {self.term(size // 2)}}}"
        if shape == 1 and self.is_on("use"):
            return f"λ{{{self.term(size - 1, 'function')}}}"
        if shape == 2 and self.is_on("case"):
            return f"λ{{#Nul: {self.term(size // 2)}; {self.lam(size // 2)}}}"
        if shape == 3 and self.is_on("name"):
            return f"^foo({self.term(size - 1)})"
        return self.lam(size)

    def connective(self, size: int) -> str:
        """``a .&. b`` or ``a .|. b``."""
        first, second = self.split(size, 2)
        return f"({self.term(first, 'number')} {self.one_of('.&.', '.|.')} {self.term(second, 'number')})"

    def constructor(self, size: int) -> str:
        """``#K{a, b}``."""
        name, arity = CTRS[self.below(len(CTRS))]
        return f"#{name}{{{', '.join(self.term(part) for part in self.split(size, arity or 1)[:arity])}}}"

    def items(self, size: int) -> str:
        """``[a, b]``."""
        count = 1 + self.below(3)
        return f"[{', '.join(self.term(part) for part in self.split(size, count))}]"

    def case_function(self, size: int, kind: Kind = "any") -> str:
        """``λ{#K: f; d}``: cases of some constructors, their fields taken by λs."""
        sizes = self.split(size, 3)
        arms: list[str] = []
        for part in sizes[: 1 + self.below(2)]:
            name, arity = (*CTRS, ("[]", 0), ("<>", 2), ("0n", 0), ("1n+", 1))[self.below(len(CTRS) + 4)]
            fields = [self.new_name() for _ in range(arity)]
            with self.bound(*[Variable("any", [f]) for f in fields]):
                body = self.term(part, kind)
            pattern = name if name[0] in "[<01" else f"#{name}"
            arms.append(f"{pattern}: {''.join(f'λ{f}. ' for f in fields)}{body}")
        default = f"; {self.lam(sizes[2], kind)}" if self.below(4) else ""
        return f"λ{{{'; '.join(arms)}{default}}}"

    def switch_function(self, size: int, kind: Kind = "any") -> str:
        """``λ{0: a; 1: b; d}``."""
        sizes = self.split(size, 3)
        numbers = [NUMBERS[self.below(10)] for _ in sizes[: 1 + self.below(2)]]
        arms = [f"{number}: {self.term(part, kind)}" for number, part in zip(numbers, sizes, strict=False)]
        default = f"; {self.lam(sizes[2], kind)}" if self.below(4) else ""
        return f"λ{{{'; '.join(arms)}{default}}}"

    def match(self, size: int, kind: Kind) -> str:
        """A case function applied to data."""
        first, second = self.split(size, 2)
        return f"{self.case_function(first, kind)}({self.term(second, 'data')})"

    def switch(self, size: int, kind: Kind) -> str:
        """A switch applied to a number."""
        first, second = self.split(size, 2)
        return f"{self.switch_function(first, kind)}({self.term(second, 'number')})"

    def strict(self, size: int, kind: Kind) -> str:
        """``λ{f}(a)``."""
        first, second = self.split(size, 2)
        return f"λ{{{self.lam(first, kind)}}}({self.term(second)})"

    def stuck_call(self, size: int) -> str:
        """``^(f a)``, or a name that is called."""
        first, second = self.split(size, 2)
        if self.below(2):
            argument = self.term(second)
            if argument[0] in "(*^%[":  # would go on with the head
                name = self.new_name()
                argument = f"! {name} = {argument}; {name}"
            return f"^({self.term(first)} {argument})"
        return f"^{NAMES[self.below(len(NAMES))]}({self.term(first)}, {self.term(second)})"

    def guarded(self, size: int, kind: Kind) -> str:
        """``g ~> f`` applied, or alone."""
        first, second, third = self.split(size, 3)
        guard = f"^{NAMES[self.below(len(NAMES))]}" if self.below(2) else self.term(first)
        if self.below(4) == 0:
            return f"({guard} ~> {self.term(second, kind)})"
        argument_kind: Kind = "any"
        way = self.below(8)
        if way == 0:
            body = self.lam(second, kind)
        elif way == 1 and self.is_on("switch"):
            body, argument_kind = self.switch_function(second, kind), "number"
        elif way == 2 and self.is_on("case"):
            body, argument_kind = self.case_function(second, kind), "data"
        elif way == 3 and self.is_on("use"):
            body = f"λ{{{self.lam(second, kind)}}}"
        elif way == 4:
            body = f"({self.leaf('data')} ~> {self.lam(second, kind)})"
        elif way == 5 and self.is_on("name"):
            body = self.one_of("^q", f"^foo({self.leaf('any')})")
        elif way == 6:
            body = self.constructor(second)
        else:
            body = self.one_of(self.term(second, "function"), self.leaf("data"), *self.odd_ones(self.lam(second, kind)))
        argument = self.term(third, argument_kind)
        return f"({guard} ~> {body})({self.one_of(argument, argument, argument, *self.odd_ones(argument))})"

    def unscoped(self, size: int, kind: Kind) -> str:
        """``! f = λ x; b``."""
        function, hole = self.new_name(), self.new_name()
        with self.bound(Variable("function", [function]), Variable("any", [hole])):
            body = self.term(size - 1, kind)
        return f"(! {function} = λ {hole}; {body})"

    def log_text(self, size: int) -> str:
        """A text to log: plain, computed or superposed."""
        if size > 2 and self.is_on("sup") and self.below(3) == 2:
            return f"&{self.one_of(*LABELS)}{{{self.log_text(size // 2)}, {self.log_text(size // 2)}}}"
        if size > 2 and self.below(3) == 2:
            return f"(#CHR{{{self.term(size // 2, 'number')}}} <> {self.log_text(size // 2)})"
        return self.one_of(*TEXTS)

    def recursive_call(self, size: int) -> str:
        """A call of a recursive definition on a literal list, where it is sure to end."""
        recursive = [d for d in self.definitions if d.startswith("@r")]
        if not recursive:
            return self.leaf("number")
        count = min(4, 1 + self.below(4))
        numbers = ", ".join(self.term(part, "number") for part in self.split(size // 2, count))
        return f"{self.one_of(*recursive)}([{numbers}])"

    # Programs.

    def program(self, size: int) -> str:
        """Write a program; definitions use only those before them, and themselves only on smaller lists."""
        texts: list[str] = []
        if self.is_on("recursion") and self.below(2):
            head, tail = self.new_name(), self.new_name()
            base = self.term(1, "number")
            with self.bound(Variable("number", [head]), Variable("number", [f"@r({tail})"])):
                step = self.term(size // 4, "number")
            texts.append(f"@r = λ{{[]: {base}; <>: λ{head}. λ{tail}. {step}}}")
            self.definitions.append("@r")
        if self.is_on("reference"):
            for number in range(self.below(3)):
                texts.append(f"@f{number} = {self.lam(size // 4)}")
                self.definitions.append(f"@f{number}")
        texts.append(f"@main = {self.term(size)}")
        return "\n".join(texts) + "\n"


def make_program(below: Below, *, features: Collection[str] = PLAIN, size_max: int = 60) -> str:
    """Write a program from a stream of choices.

    Parameters
    ----------
    below : callable
        ``below(n)`` gives the next choice, from 0 to n - 1.
    features : collection of str
        What may occur (``FEATURES``); about half of the programs do without some of it, so that rare pairs meet.
    size_max : int
        Most nodes of ``@main``, about.
    """
    kept = [feature for feature in FEATURES if feature in features]
    if below(2):
        kept = [feature for feature in kept if below(3)]
    return Maker(below, frozenset(kept)).program(3 + below(size_max - 2))


@st.composite
def programs(draw: st.DrawFn, *, features: Collection[str] = PLAIN, size_max: int = 60) -> str:
    """Hypothesis strategy of program texts."""
    return make_program(lambda n: draw(st.integers(0, n - 1)), features=features, size_max=size_max)


def make_affine(below: Below, size: int, depth: int = 0, free: list[int] | None = None) -> Lambda:
    """Write a closed lambda term in which each variable occurs at most once.

    Parameters
    ----------
    below : callable
        ``below(n)`` gives the next choice.
    size : int
        Most applications, about.
    depth : int
        Binders around the term.
    free : list of int
        Levels of the variables that may still be used; those used are taken out.
    """
    free = [] if free is None else free
    if not free or (size > 0 and below(2)):
        free.append(depth + 1)
        body = make_affine(below, size - 1, depth + 1, free)
        if depth + 1 in free:
            free.remove(depth + 1)
        return Lam(body)
    if size <= 0 or below(4) == 0:
        return Var(depth - free.pop(below(len(free))))
    first = below(size)
    function = make_affine(below, first, depth, free)
    return App(function, make_affine(below, size - 1 - first, depth, free))


def make_shared(below: Below, size: int) -> Lambda:
    """Write a chain of lets, each of an affine term that may use the earlier ones many times, around such a term.

    Duplications stand in the chain alone, so none is ever duplicated and no two labels are the same.
    """
    count = 1 + below(3)

    def link(number: int) -> Lambda:
        term = make_affine(below, below(size), number, [level for level in range(1, number + 1) for _ in range(3)])
        return term if number == count else App(Lam(link(number + 1)), term)

    return link(0)


@st.composite
def affine_terms(draw: st.DrawFn, *, size_max: int = 25) -> Lambda:
    """Closed affine lambda terms."""
    return make_affine(lambda n: draw(st.integers(0, n - 1)), draw(st.integers(0, size_max)))


@st.composite
def shared_terms(draw: st.DrawFn, *, size_max: int = 12) -> Lambda:
    """Closed lambda terms that share without sharing a duplication."""
    return make_shared(lambda n: draw(st.integers(0, n - 1)), draw(st.integers(1, size_max)))
