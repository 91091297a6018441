"""The kernel is what Metal takes, and each check of that finds what is planted for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hvm4viz.device.compiler import find_compiler
from hvm4viz.device.cpu import wrap
from hvm4viz.errors import CompileFailed
from hvm4viz.kernel_text.address_spaces import find_clang, lint_spaces
from hvm4viz.kernel_text.lint import lint, main
from hvm4viz.kernel_text.metal_text import Finding, metal_text
from hvm4viz.kernel_text.source import kernel

CLANG = find_clang()
needs_clang = pytest.mark.skipif(
    CLANG is None, reason="no clang is here to check address spaces; pip install ziglang brings one"
)
STRICT = ("-std=c++14", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fno-exceptions", "-fno-rtti", "-Wno-psabi")
WATCHED = ("-Wno-unknown-warning-option", "-Wno-deprecated-copy", "-Wno-deprecated-copy-with-user-provided-copy")


def planted(code: str) -> str:
    return f"{kernel().text}\n// ==== planted.h\n{code}\n"


def found_in(code: str) -> list[Finding]:
    return [finding for finding in lint(planted(code)) if finding.file == "planted.h"]


@pytest.mark.parametrize("watchers", [(), ("log",)], ids=str)
def test_the_kernel_passes_with_no_suppression(watchers: tuple[str, ...]) -> None:
    assert lint(kernel().watched(*watchers).text) == []


@needs_clang
@pytest.mark.parametrize("watchers", [(), ("log",), ("shadow",)], ids=str)
def test_every_pointer_of_the_kernel_keeps_its_address_space(watchers: tuple[str, ...]) -> None:
    assert CLANG is not None
    assert lint_spaces(kernel().watched(*watchers).text, CLANG) == []


RING = """
FUNC uint h(uint n);
FUNC uint f(uint n) { return h(n); }
FUNC uint g(uint n) { return f(n); }
FUNC uint h(uint n) { return g(n); }
"""
PLANTED = [
    ("64-bit atomic", "FUNC void f(device atomic_ulong* at) { (void)at; }"),
    ("64-bit atomic", "FUNC void f(device atomic<ulong>* at) { (void)at; }"),
    ("foreign atomic", "FUNC void f(device uint* at) { __atomic_store_n(at, 1u, 0); }"),
    ("memory order", "FUNC uint f(device Atomic32* at) { return atomic_load_explicit(at, memory_order_acquire); }"),
    ("memory order", "FUNC void f(device Atomic32* at) { atomic_store_explicit(at, 1u, memory_order_seq_cst); }"),
    ("memory order", "FUNC void f() { atomic_thread_fence(mem_flags::mem_device, memory_order_relaxed); }"),
    ("recursion", "FUNC uint f(uint n) { return n == 0u ? 0u : f(n - 1u); }"),
    ("recursion", "FUNC uint g(uint n);\nFUNC uint f(uint n) { return g(n); }\nFUNC uint g(uint n) { return f(n); }"),
    ("recursion", RING),
    ("function pointer", "FUNC uint f(uint n) { uint (*at)(uint) = 0; return at(n); }"),
    ("function pointer", "FUNC uint g(uint n) { return n; }\nFUNC void f() { auto at = g; (void)at; }"),
    ("function pointer", "FUNC uint g(uint n) { return n; }\nFUNC void f() { auto at = &g; (void)at; }"),
    ("floating point", "FUNC uint f(uint n) { return (uint)(n * 0.5); double d = 0; }"),
    ("floating point", "FUNC float f(uint n) { return n; }"),
    ("exception", "FUNC void f() { throw 1; }"),
    ("exception", "FUNC void f() { try { } catch (int) { } }"),
    ("exception", "FUNC void f() noexcept { }"),
    ("allocation", "FUNC void f() { thread uint* at = new uint; }"),
    ("allocation", "FUNC void f(thread uint* at) { delete at; }"),
    ("allocation", "FUNC void f() { malloc(8); }"),
    ("goto", "FUNC void f() { goto end; end: return; }"),
    ("long long", "FUNC ulong f() { unsigned long long n = 1; return n; }"),
    ("long long", "FUNC ulong f() { return 1ull << 40; }"),
    ("long long", "FUNC ulong f() { return 0x1FLL; }"),
    ("header", "#include <stdint.h>"),
    ("header", '#include "other.h"'),
    ("class", "struct S { virtual uint f() { return 1u; } };"),
    ("class", "struct A { uint a; };\nstruct B : A { uint b; };"),
    ("lambda", "FUNC uint f() { auto g = [](uint n) { return n; }; return g(1u); }"),
    ("storage", "FUNC uint f(volatile device uint* at) { return *at; }"),
    ("standard library", "FUNC uint f(uint a) { return std::min(a, 1u); }"),
    ("missing address space", "FUNC uint f(uint* at) { return *at; }"),
    ("missing address space", "FUNC uint f(Worker* w) { return w->me; }"),
    ("missing address space", "FUNC uint f(const Params& p) { return p.now; }"),
    ("missing address space", "FUNC void f() { uint n = 0u; uint* at = &n; (void)at; }"),
    ("missing address space", "struct S { const Term* at; };"),
    ("missing address space", "FUNC ulong f(device void* at) { return *(ulong*)at; }"),
    ("global", "uint counter = 0u;"),
    ("global", "static uint table[4] = {1u, 2u, 3u, 4u};"),
    ("global", "FUNC uint f() { static uint n = 0u; return ++n; }"),
    ("guard", "ENTRY(f)(BUFFER(uint, out, 0), GRID_INDEX) { out[index] = 1u; }"),
    (
        "buffers",
        "ENTRY(f)(BUFFER(uint, a, 1), BUFFER(uint, b, 0), GRID_INDEX) { if (index >= 1u) return; a[0] = b[0]; }",
    ),
]


@pytest.mark.parametrize(("check", "code"), PLANTED, ids=[f"{c}: {code[:40]}" for c, code in PLANTED])
def test_what_is_planted_is_found(check: str, code: str) -> None:
    assert check in {finding.check for finding in found_in(code)}


@pytest.mark.parametrize(
    "code",
    [
        "FUNC uint f(thread uint* at, device const Params* p) { return *at + p->now; }",
        "// a double, a goto, new and float in a comment\nFUNC uint f(uint a, uint b) { return a * b & (a && b); }",
        "constant uint table[2] = {1u, 2u};",
        "FUNC uint g(uint n) { return n; }\nFUNC uint f(uint g) { return g + 1u; }",
        "struct S { uint free, next; };\nFUNC uint f(S s) { return s.free; }",
        "#if defined(__CUDACC__)\n#include <stdint.h>\nlong long n; double d;\n#endif",
        "FUNC uint f(Half at) { return atomic_read_acquire(at); }",
    ],
)
def test_what_metal_has_is_not_complained_about(code: str) -> None:
    assert found_in(code) == []


SPACES = [
    "FUNC uint f(thread uint* at) { return *at; }\nFUNC uint g(device uint* at) { return f(at); }",
    "FUNC uint f(device uint* at) { return *at; }\nFUNC uint g(thread uint* at) { return f(at); }",
    "FUNC uint f(THREAD Worker* w) { thread const ulong* at = w->book; return (uint)*at; }",
    "FUNC uint f(device uint* at) { threadgroup uint* other = at; return *other; }",
    "FUNC void f(constant uint* at) { device const uint* other = at; (void)other; }",
    "FUNC uint f(device Atomic32* at) { return *at; }",  # an atomic is read by the functions of its own alone
    "FUNC uint f(device ulong* at) { return atomic_read(at); }",
    "FUNC uint f(device Record* r) { return pass_is_first_visit(r, 1u, 2u); }",
]


@needs_clang
@pytest.mark.parametrize("code", SPACES, ids=range(len(SPACES)))
def test_a_wrong_address_space_is_found(code: str) -> None:
    assert CLANG is not None
    findings = lint_spaces(planted(code), CLANG)
    assert findings
    assert {finding.check for finding in findings} == {"address space"}
    assert {finding.file for finding in findings} == {"planted.h"}


@needs_clang
@pytest.mark.parametrize("name", ["pass.metal", "heap.h", "join.h"])
def test_a_dropped_qualifier_is_found_where_it_was(name: str) -> None:
    """Each DEVICE of a file, dropped: one reading or the other says so."""
    assert CLANG is not None
    text = kernel().text
    begin = text.index(f"// ==== {name}\n")
    at = text.index("DEVICE ", begin)
    broken = text[:at] + text[at + len("DEVICE ") :]

    found = lint(broken) + lint_spaces(broken, CLANG)

    line = text.count("\n", begin, at)
    assert any(finding.file == name and finding.line == line for finding in found)


def test_a_finding_names_file_and_line() -> None:
    (finding,) = found_in("// one\n// two\nFUNC void f() { goto end; end: return; }")

    assert str(finding) == "planted.h:3: goto: 'goto': there is none"


def test_a_text_that_is_no_text_is_refused_with_the_compilers_words() -> None:
    with pytest.raises(CompileFailed, match=r"#endif|unterminated"):
        metal_text("#if 1\n")


def test_the_command_says_what_it_found(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("0 findings in ")
    (tmp_path / "kernel.txt").write_text(planted("uint counter = 0u;"), encoding="utf-8")

    assert main([str(tmp_path / "kernel.txt")]) == 1
    assert "planted.h:1: global: 'uint counter = 0u'" in capsys.readouterr().out


@pytest.mark.parametrize("watchers", [(), ("log",), ("shadow",)], ids=str)
@pytest.mark.parametrize("which", ["the compiler", "clang"])
def test_the_kernel_is_strict_cxx14_without_a_warning(which: str, watchers: tuple[str, ...], tmp_path: Path) -> None:
    command = find_compiler().command if which == "the compiler" else CLANG
    if command is None:
        pytest.skip("no clang is here; pip install ziglang brings one")
    source = tmp_path / "kernel.cpp"
    source.write_text(wrap(kernel().watched(*watchers).text)[0], encoding="utf-8")

    done = subprocess.run(
        [*command, *STRICT, *(WATCHED if watchers else ()), "-c", str(source), "-o", str(tmp_path / "kernel.o")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
