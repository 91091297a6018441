from __future__ import annotations

from collections.abc import Iterator

import pytest

import hvm4viz as hv
from hvm4viz.errors import HvmRuntimeError, HvmSyntaxError, PrimitiveInGnf
from hvm4viz.syntax import names

MACHINES = [hv.Machine(blocks=1, threads_per_block=1), hv.Machine(region_size=64, fuel=3)]


@pytest.fixture(autouse=True)
def forgotten_afterwards() -> Iterator[None]:
    before = dict(names._registered)  # pyright: ignore[reportPrivateUsage]
    yield
    names._registered.clear()  # pyright: ignore[reportPrivateUsage]
    names._registered.update(before)  # pyright: ignore[reportPrivateUsage]


@pytest.fixture(params=MACHINES, ids=["alone", "many"])
def machine(request: pytest.FixtureRequest) -> hv.Machine:
    return request.param


def test_log_lines_come_in_order_and_before_the_result(machine: hv.Machine, capsys: pytest.CaptureFixture[str]) -> None:
    run = hv.run('@main = #T{%log("one"), [%log("two"), 5], %log("three")}', machine=machine)

    assert run.log == ["one", "two", "three"]
    assert capsys.readouterr().out == "one\ntwo\nthree\n"
    assert run.text == "#T{[],[[],5],[]}"


def test_function_gets_terms_in_normal_form_and_gives_python_values(machine: hv.Machine) -> None:
    seen: list[object] = []

    @hv.primitive("take", arity=2)
    def take(a: hv.Term, b: hv.Term) -> object:
        seen.extend((a.python(), b.text))
        return [a, b, "hi", 7, -1]

    run = hv.run("@main = %take(2 * 3, (λx. [x])(1))", machine=machine)

    assert seen == [6, "[1]"]
    assert run.text == '[6,[1],"hi",7,4294967295]'


def test_heads_that_pass_through_call_again_inside(machine: hv.Machine) -> None:
    @hv.primitive("inc_of", arity=2)
    def inc_of(a: hv.Term, b: hv.Term) -> int:
        return a.python() + b.python()

    run = hv.run("@main = [%inc_of(&{}, 1), %inc_of(↑2, 3), %inc_of(&A{1, 2}, 10)]", machine=machine)

    assert run.text == "[&{},↑5,&A{11,12}]"


def test_exception_names_the_place_and_keeps_the_cause(machine: hv.Machine) -> None:
    @hv.primitive("fail", arity=1)
    def fail(a: hv.Term) -> int:
        raise KeyError(a.text)

    run = hv.run('@main = #P{%log("before"), %fail(1)}', machine=machine)

    assert run.status == "error"
    assert "%fail raised KeyError: '1' in @main at cell:1:28" in run.message
    assert run.log == ["before"]
    with pytest.raises(HvmRuntimeError) as caught:
        run.raise_for_status()
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize("value", [None, 1.5, object()])
def test_value_of_another_kind_is_refused(value: object) -> None:
    hv.primitive("odd", arity=0)(lambda: value)

    run = hv.run("@main = %odd()")

    assert run.status == "error"
    assert type(value).__name__ in run.message


def test_term_given_back_twice_is_refused() -> None:
    hv.primitive("twice", arity=1)(lambda term: [term, term])

    assert hv.run("@main = %twice([1])").status == "error"
    assert hv.run("@main = %twice(1)").text == "[1,1]"


@pytest.mark.parametrize(
    ("given", "says"),
    {
        "7": 'a string list: it takes a string, such as "text"; it got a number (7)',
        "#A": 'a string list: it takes a string, such as "text"; it got a constructor #A',
        "#A{1, 2}": 'a string list: it takes a string, such as "text"; it got a constructor #A',
        "λx. x": "it got a function",
        "λ{#A: 1}": "it got a function",
        "λ{1: 1}": "it got a function",
        "λ{λx. x}": "it got a function",
        "^y(1)": "it got a term that stays as it is",
        "^x": "it got a term that stays as it is",
        "@f ~> @f": "it got a function",
        "'a' <> 'b' <> 7": "it got a list that ends in a number (7)",
        "['a', 1 + 1]": '#Chr head: it takes a string, such as "text"; it got a list with a number (2) in it',
        '["a", "b"]': '#Chr head: it takes a string, such as "text"; it got a list with a list in it',
        "[#Chr]": "it got a list with a constructor #Chr in it",
        "[#CHR{#A}]": 'a numeric codepoint: it takes a string, such as "text"; it got a character #CHR of a c',
    }.items(),
)
def test_log_says_what_it_got_in_place_of_a_string(given: str, says: str, machine: hv.Machine) -> None:
    run = hv.run(f"@f = λx. x\n@main = %log({given})", machine=machine)

    assert run.status == "error"
    assert run.message.startswith("RUNTIME_ERROR: %log expected ")
    assert says in run.message


def test_arity_is_checked_when_parsed() -> None:
    hv.primitive("two", arity=2)(max)

    with pytest.raises(HvmSyntaxError):
        hv.parse("@main = %two(1)")
    with pytest.raises(HvmSyntaxError):
        hv.parse("@main = %unheard_of(1)")


@pytest.mark.parametrize("name", ["", "1a", "a b", "log", "gnf"])
def test_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"primitive|always there"):
        hv.primitive(name, arity=1)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("@main = %gnf([1 + 2, 3])", "[3,3]"),
        ("@main = ! x = %gnf([1 + 2, 3]); x", "[3,3]"),
        ("@main = %gnf([1, %gnf(2 + 3)])", "[1,5]"),
        ("@main = %nf([1 + 2, 3])", "[3,3]"),
        ('@main = %nf([1 + 2, %log("in")])', "[3,[]]"),
        ('@main = #P{%log("a"), %gnf(λx. (λy. y)(x)), %nf(2 + 2)}', "#P{[],λa.a,4}"),
        ("@sum = λ{0: 0; λ&n. n + @sum(n - 1)}\n@main = ! &x = %gnf([@sum(100), @sum(10)]); [x, x]", None),
    ],
)
def test_gnf_and_nf_give_what_normalising_gives(source: str, text: str | None, machine: hv.Machine) -> None:
    run = hv.run(source, machine=machine, on_log=lambda _line: None)

    assert run.status == "done", run.message
    assert run.text == (text or "[[5050,55],[5050,55]]")


def test_gnf_runs_on_the_frontier_machine() -> None:
    run = hv.run("@main = %gnf([1 + 1, 2 + 2, 3 + 3, 4 + 4])")

    devices = run.trace.meta["devices"]
    assert any("evaluator" in name for name in devices)
    assert any("evaluator" not in name for name in devices)


def test_primitive_inside_gnf_aborts_with_heap_and_trace(machine: hv.Machine) -> None:
    run = hv.run('@main = %gnf([1 + 1, %log("no")])', machine=machine)

    assert run.status == "primitive"
    assert "%log was met inside %gnf in @main at cell:1:22" in run.message
    assert run.trace.n_passes > 0
    assert run.log == []
    assert run.heap.settled().tasks == ()
    with pytest.raises(PrimitiveInGnf):
        run.raise_for_status()


def test_log_under_a_strict_function_keeps_the_frames(machine: hv.Machine) -> None:
    run = hv.run('@main = !! x = %log("a"); λ{[]: 1}(%log("b"))', machine=machine, on_log=lambda _line: None)

    assert (run.text, run.log) == ("1", ["a", "b"])


def test_shared_log_is_written_once(machine: hv.Machine) -> None:
    run = hv.run('@main = ! &x = %log("once"); [x, x, x]', machine=machine, on_log=lambda _line: None)

    assert (run.text, run.log) == ("[[],[],[]]", ["once"])


def test_enumeration_logs_each_branch(machine: hv.Machine) -> None:
    lines: list[str] = []
    run = hv.run(
        '@main = %log(&S{"left", "right"})',
        mode="collapse",
        machine=machine,
        on_log=lines.append,
        on_result=lambda term: lines.append(term.text),
    )

    assert lines == ["left", "[]", "right", "[]"]
    assert run.stats.interactions == 15


def test_program_without_reachable_primitives_runs_on_the_machine() -> None:
    run = hv.run('@unused = %log("never")\n@main = [1 + 1]')

    assert run.text == "[2]"
    assert all("evaluator" not in name for name in run.trace.meta["devices"])


def test_stuck_duplication_goes_on_once_its_variable_is_filled(machine: hv.Machine) -> None:
    source = """@main = λ{1: 0; (λ&v. (&A{v, 0} === v))}(((&A{0, 1} + &A{0, 1}) + λ{#Nul: 0; (λw. 0)}(%log(""))))"""

    run = hv.run(source, machine=machine, on_log=lambda _line: None)

    assert run.text == "&A{&A{1,0},0}"
    assert run.stats.interactions == 29


def test_term_of_another_call_or_run_is_refused() -> None:
    kept: list[hv.Term] = []

    def keep(term: hv.Term) -> hv.Term:
        kept.append(term)
        return kept[0]

    hv.primitive("keep", arity=1)(keep)
    hv.primitive("inner", arity=1)(lambda _term: hv.run("@main = #P{1, 2, 3}").result)

    for source in ("@main = #R{%keep(λx. x)(1), %keep(λy. y)(2)}", "@main = #R{%inner(1)}"):
        run = hv.run(source)
        assert run.status == "error"
        assert "a Term of another call or run" in run.message


def test_value_that_outgrows_the_heap_fills_it() -> None:
    hv.primitive("long", arity=0)(lambda: "a" * 1_000_000)

    run = hv.run("@main = %long()", machine=hv.Machine(heap="1 MiB"))

    assert run.status == "heap_full"


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("error", [Unspeakable(), SystemExit(3), GeneratorExit()])
def test_whatever_a_primitive_raises_ends_the_run_alone(error: BaseException) -> None:
    def fail() -> int:
        raise error

    hv.primitive("fail", arity=0)(fail)

    run = hv.run("@main = %fail()")

    assert run.status == "error"
    assert f"%fail raised {type(error).__name__}" in run.message
    assert run.cause is error
