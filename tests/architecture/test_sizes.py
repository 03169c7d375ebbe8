"""Modules and functions stay small enough to be read in one sitting, and every one has a name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("foreword", "worker", "api_shim", "bench")
MODULES = sorted(path for name in (*PRODUCT, "tests") for path in (ROOT / name).rglob("*.py"))
LONGEST_MODULE, LONGEST_FUNCTION = 400, 60
DUMPS = {"utils", "util", "helpers", "helper", "common", "misc", "shared"}


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and lines of each function of a module, decorators and docstring included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield node.name, (node.end_lineno or first) - first + 1


def test_there_are_modules_to_measure() -> None:
    """The measure is taken of the product, not of an empty list."""
    assert {"worker/write.py", "api_shim/read.py"} <= {shown(path) for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_a_module_is_short(path: Path) -> None:
    """No module has more than 400 lines."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


@pytest.mark.parametrize("path", [p for p in MODULES if p.relative_to(ROOT).parts[0] != "tests"], ids=shown)
def test_a_function_is_short(path: Path) -> None:
    """No function of the product has more than 60 lines."""
    assert [(name, lines) for name, lines in functions(path) if lines > LONGEST_FUNCTION] == []


@pytest.mark.parametrize("name", ["worker/write.py", "api_shim/read.py", "api_shim/accept.py"])
def test_a_flow_is_told_in_one_page(name: str) -> None:
    """The files to open first tell their whole flow in under 150 lines."""
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) < 150


def test_nothing_is_a_dump() -> None:
    """No module and no folder is named for not having a name."""
    named = {part for path in MODULES for part in (*path.relative_to(ROOT).parts[:-1], path.stem)}
    assert not named & DUMPS
