"""Nothing is filed that has not passed the gate (SR-1): one function makes what text may be kept of."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.services import Services

ROOT = Path(__file__).parents[2]
MAKERS = {
    "Clean": {("worker/steps/redact.py", "redact")},
    "Entry": {("worker/steps/prepare.py", "_entry")},
    "Written": {("worker/steps/prepare.py", "_written")},
}
"""Types that only hold what has passed, and the functions that may make one."""
WRITERS = {
    "file": ("worker/stores/ledger.py", "_put", "Sequence[Entry]"),
    "rewrite": ("worker/upkeep/resweep.py", "_rewrite", "list[tuple[dict[str, Any], Clean]]"),
    "tell": ("worker/stores/runs.py", "tell", "Sequence[Written]"),
    "hide_in_runs": ("worker/upkeep/runs.py", "hide_in_runs", "Redactor"),
    "hide_in_run_events": ("worker/upkeep/runs.py", "hide_in_runs", "Redactor"),
}
"""Queries of the worker that keep text: where each is run, and of what kind the text is there."""
TEXT = {"content", "tags", "metadata", "source", "speaker", "conversation", "payload", "variables"}

Sources = dict[str, str]


def sources(*suffixes: str) -> Sources:
    """Files of the product by path."""
    folders = [ROOT / name for name in ("foreword", "worker", "api_shim")]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in suffixes]
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}


def calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Every call with the name of the innermost function around it."""

    def within(node: ast.AST, around: str) -> Iterator[tuple[str, ast.Call]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            around = node.name
        if isinstance(node, ast.Call):
            yield around, node
        for child in ast.iter_child_nodes(node):
            yield from within(child, around)

    return within(tree, "")


def called(call: ast.Call) -> str:
    """The last name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def strays(python: Sources) -> list[tuple[str, str, str]]:
    """Calls that would keep text past the gate: (file, function, what is called)."""
    found = []
    for path, text in python.items():
        for around, call in calls(ast.parse(text)):
            name = called(call)
            if name in MAKERS and (path, around) not in MAKERS[name]:
                found.append((path, around, name))
            elif name == "replace" and path.startswith("worker/") and path != "worker/steps/redact.py":
                if {keyword.arg for keyword in call.keywords} & {*TEXT, "draft", None}:
                    found.append((path, around, "replace"))
            elif name in ("run", "_hide") and path.startswith("worker/"):
                queries = {arg.value for arg in call.args if isinstance(arg, ast.Constant)} & WRITERS.keys()
                found += [(path, around, q) for q in queries if (path, around) != WRITERS[q][:2]]
    return found


def test_only_the_gate_opens() -> None:
    """A Clean is made by the gate, entries and events of a Clean, and queries that keep text take those."""
    assert strays(sources(".py")) == []


@pytest.mark.parametrize(
    ("path", "added"),
    [
        ("worker/upkeep/expire.py", "def f(**text):\n    return Entry(**text)"),
        ("worker/steps/prepare.py", "def f(draft):\n    return redact_module.Clean(draft)"),
        ("worker/steps/prepare.py", "def f(entry):\n    return replace(entry, content='x')"),
        ("worker/write.py", "def f(filing):\n    filing.run('file', entries='[]')"),
        ("worker/write.py", "def f(filing):\n    filing.run('rewrite', of='upkeep', entries='[]')"),
        ("api_shim/accept.py", "async def f(**text):\n    return Written(**text)"),
    ],
)
def test_a_way_around_is_noticed(path: str, added: str) -> None:
    """Each way past the gate, put into a file that had none, is found there."""
    python = sources(".py")
    python[path] += f"\n\n{added}\n"
    assert [(found, around) for found, around, _ in strays(python)] == [(path, "f")]


@pytest.mark.parametrize("maker", sorted({place for places in MAKERS.values() for place in places}))
def test_entries_are_made_of_what_has_passed(maker: tuple[str, str]) -> None:
    """What makes an entry or an event takes a Clean and no Draft; what makes a Clean takes a redactor."""
    function = _function(*maker)
    taken = {ast.unparse(arg.annotation) for arg in function.args.args if arg.annotation is not None}
    assert taken & {"Clean", "Redactor"}
    assert ("Draft" in taken) == (maker[1] == "redact")


@pytest.mark.parametrize("query", sorted(WRITERS))
def test_what_keeps_text_takes_what_has_passed(query: str) -> None:
    """The one place that runs a query which keeps text is given entries, events or Cleans, or redacts it."""
    path, name, kind = WRITERS[query]
    function = _function(path, "_hide" if kind == "Redactor" else name)
    assert kind in {ast.unparse(arg.annotation) for arg in function.args.args if arg.annotation is not None}


def test_queries_that_keep_text_are_known() -> None:
    """No SQL of the worker puts text in entries or runs but the known queries."""
    found = set()
    for path, text in sources(".sql").items():
        if not path.startswith("worker/"):
            continue
        for query in text.split("-- name: ")[1:]:
            name, _, body = query.partition("\n")
            written = re.findall(
                r"INSERT INTO entries \(([^)]*)\)|UPDATE (?:entries|runs|run_events) \w+ SET ([^;]*?)FROM",
                body,
            )
            columns = {column for pair in written for column in re.findall(r"\b[a-z_]+\b", " ".join(pair))}
            if columns & TEXT or "tell_runs" in body:
                found.add(name.strip())
    assert found == WRITERS.keys()


def test_the_shim_keeps_no_entries(services: Services) -> None:
    """The shim, which sees Drafts and has no redactor, may write no entry and nothing that is made of one."""
    with psycopg.connect(services.owner_url) as conn:
        for table in ("entries", "entry_tags", "postings", "vectors", "events"):
            for right in ("INSERT", "UPDATE"):
                row = conn.execute("SELECT has_any_column_privilege('foreword_shim', %s, %s)", [table, right])
                assert row.fetchone() == (False,), (table, right)


def _function(path: str, name: str) -> ast.FunctionDef:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    (found,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    return found
