"""docs/conformance.md names what there is: each requirement has its module and its test."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/conformance.md").read_text(encoding="utf-8")
HEADER = "| requirement | kept in | test |"
AMBIGUITIES = {f"A{number}" for number in range(1, 27)}


def rows() -> list[tuple[str, str, str]]:
    """Requirement, module and test of each row."""
    found = []
    for table in TEXT.split(HEADER)[1:]:
        for line in table.strip().splitlines()[1:]:
            if not line.startswith("|"):
                break
            requirement, kept, test = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            found.append((requirement.strip(), kept, test))
    return found


def paths(cell: str) -> list[Path]:
    """Files and folders that a cell names."""
    return [ROOT / name for name in re.findall(r"`((?:foreword|worker|api_shim|tests)/[\w./-]+)`", cell)]


def functions(path: Path) -> set[str]:
    """Tests of a file, or of a folder."""
    files = path.rglob("test_*.py") if path.is_dir() else [path]
    return {
        name for file in files for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.M)
    }


def test_there_are_tables() -> None:
    """The tables were found, each row with three cells."""
    assert TEXT.count(HEADER) >= 7
    assert len(rows()) > 50


@pytest.mark.parametrize(("requirement", "kept", "test"), rows(), ids=lambda cell: cell.strip()[:40])
def test_a_requirement_is_kept_and_tested(requirement: str, kept: str, test: str) -> None:
    """Its modules exist, its test files exist and hold the tests that are named."""
    assert requirement
    named = paths(kept) + paths(test)
    assert [path for path in named if not path.exists()] == []
    files = paths(test)
    assert files, "no test is named"
    there = set().union(*map(functions, files))
    assert there, "the files hold no test"
    assert set(re.findall(r"`(test_\w+)`", test)) <= there


def test_every_ambiguity_is_decided() -> None:
    """Each of the 26 open points is named with what was decided of it."""
    assert set(re.findall(r"\bA\d{1,2}\b", TEXT)) == AMBIGUITIES


def test_other_names_exist_too() -> None:
    """A test that is named outside the tables exists as well."""
    there = functions(ROOT / "tests")
    assert set(re.findall(r"`(test_\w+)`", TEXT)) <= there
