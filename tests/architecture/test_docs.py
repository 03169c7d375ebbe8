"""The documents name everything there is, and nothing that is not."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from api_shim.doors.errors import STATUSES
from api_shim.doors.inspect import PAGE
from api_shim.doors.routes import ROUTES, RUNS, SEAMS
from api_shim.metrics import Metrics, Waiting
from api_shim.settings import ShimSettings
from foreword import errors, keys
from foreword.cli.root import root
from foreword.scope import Scope
from worker.settings import WorkerSettings

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "ops").glob("*.md")])
CODE = [path for name in ("foreword", "worker", "api_shim") for path in (ROOT / name).rglob("*.py")]
COMPOSE_ONLY = {"POSTGRES_PASSWORD", "VALKEY_PASSWORD"}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def settings() -> dict[str, Any]:
    """Every setting of shim and worker with its default; None where it has none."""
    fields = {**WorkerSettings.model_fields, **ShimSettings.model_fields}
    return {
        f"FOREWORD_{name.upper()}": None if field.is_required() else field.default
        for name, field in fields.items()
    }


def named_in_code() -> set[str]:
    """Every FOREWORD_ variable that the code's own words hold."""
    return {name for path in CODE for name in re.findall(r"FOREWORD_[A-Z][A-Z_]*[A-Z]", path.read_text())}


def listed() -> dict[str, str]:
    """Variables of ops/env.example and the values beside them."""
    found = re.findall(r"^#?([A-Z][A-Z_]+)=(.*)$", text("ops/env.example"), re.MULTILINE)
    assert len(found) == len(dict(found)), "a variable is listed twice"
    return dict(found)


def test_every_setting_is_in_the_example() -> None:
    """ops/env.example lists each setting of each process and each variable that is read elsewhere."""
    assert set(settings()) | named_in_code() <= set(listed())


def test_the_example_lists_nothing_else() -> None:
    """A variable that nobody reads is not listed."""
    assert set(listed()) - COMPOSE_ONLY <= set(settings()) | named_in_code()


@pytest.mark.parametrize("name", sorted(n for n, default in settings().items() if default is not None))
def test_the_example_tells_the_default(name: str) -> None:
    """The value beside a setting is the one it has when nobody sets it."""
    default = settings()[name]
    shown = {True: "true", False: "false"}.get(default, default) if isinstance(default, bool) else default
    if not hasattr(default, "get_secret_value"):
        assert listed()[name] == str(shown)


def test_no_document_names_a_setting_that_is_none() -> None:
    """Every FOREWORD_ variable in a document exists."""
    for path in DOCUMENTS:
        named = set(re.findall(r"FOREWORD_[A-Z][A-Z_]*[A-Z]", path.read_text(encoding="utf-8")))
        assert named <= set(listed()), path.name


def redis_keys() -> Iterator[str]:
    """Every key of a scope with its two variable parts named as the documents name them."""
    made = keys.view_keys(Scope(7, "agent/7"))
    for name in made.__slots__:
        yield re.sub(r"\{7:[0-9a-f]{32}\}", "{T:H}", getattr(made, name))
    yield f"{keys.BROKER_PREFIX}*"


def test_every_redis_key_is_in_the_architecture() -> None:
    """docs/architecture.md has a row for each key, and no other."""
    rows = re.findall(r"^\| `(fw1:[^`]+)` \|", text("docs/architecture.md"), re.MULTILINE)
    assert rows == list(redis_keys())


def test_every_table_is_in_the_architecture() -> None:
    """docs/architecture.md has a row for each table of the ledger, and no other."""
    schema = text("foreword/ledger/schema.sql")
    tables = set(re.findall(r"^CREATE TABLE (\w+)", schema, re.MULTILINE)) | {"migrations"}
    section = text("docs/architecture.md").partition("## The ledger")[2].partition("## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == tables


def test_every_route_is_in_the_api() -> None:
    """docs/api.md names each call with its method, and no call that there is not."""
    routes = {f"{route.method} {route.path}" for route in (*ROUTES, *RUNS, *SEAMS, *PAGE)}
    named = set(re.findall(r"`((?:GET|POST|PUT|DELETE) /[^`\s]*)`", text("docs/api.md")))
    assert named == routes


def tree(error: type[errors.ForewordError]) -> Iterator[type[errors.ForewordError]]:
    yield error
    for below in error.__subclasses__():
        yield from tree(below)


def test_every_error_is_in_the_api() -> None:
    """docs/api.md has a row for each code that the server answers, with its status, and names the others."""
    rows = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", text("docs/api.md"), re.MULTILINE))
    answered = {error.code: str(status) for error, status in STATUSES.items()} | {"internal_error": "500"}
    assert rows == answered
    for error in tree(errors.ForewordError):
        assert f"`{error.code}`" in text("docs/api.md"), error.code


def test_every_command_is_in_the_readme() -> None:
    """README.md names each command, and no document names one that there is not."""
    assert isinstance(root, click.Group)
    there = set(root.commands)
    assert set(re.findall(r"`foreword ([a-z]+)`", text("README.md"))) >= there
    for path in DOCUMENTS:
        named = re.findall(r"(?:^|`)foreword ([a-z]+)\b", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(named) <= there, path.name


def test_every_make_target_is_explained() -> None:
    """Each target says what it does in ``make help`` and in README.md."""
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    assert targets == set(re.findall(r"^([a-z-]+):.*## \S", text("Makefile"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", text("README.md"))) >= targets


def samples() -> set[str]:
    """Names of everything the shim exposes, as Prometheus sees them."""
    metrics = Metrics()
    metrics.request("/healthz", 200, 0.001)
    metrics.read("head")
    metrics.accepted(1)
    metrics.inbox(Waiting(waiting=1, failed=0, oldest_seconds=1.0))
    metrics.unembedded(Waiting(waiting=1, failed=0, oldest_seconds=1.0))
    return set(re.findall(r"^(foreword_\w+)", metrics.page().decode(), re.MULTILINE))


@pytest.mark.parametrize("name", ["ops/alerts.yml", "ops/grafana.json", "docs/api.md", "ops/runbook.md"])
def test_metrics_that_are_used_exist(name: str) -> None:
    """Alerts, dashboard and documents speak of metrics that the shim exposes."""
    families = samples() | {sample.removesuffix("_count") for sample in samples()}
    assert set(re.findall(r"\bforeword_[a-z_]+(?=[{\[)`|\s])", text(name))) - {"foreword_shim"} <= families


def test_every_metric_is_on_the_dashboard() -> None:
    """Each metric of the shim is drawn and documented."""
    families = {re.sub(r"_(bucket|sum|count|created|total)$", "", sample) for sample in samples()}
    for family in families:
        assert family in text("ops/grafana.json"), family
        assert family in text("docs/api.md"), family


def test_alerts_and_dashboard_can_be_read() -> None:
    """Prometheus' files are YAML with an expression and a next step in each alert; the board is JSON."""
    assert yaml.safe_load(text("ops/prometheus.yml"))["rule_files"] == ["alerts.yml"]
    (group,) = yaml.safe_load(text("ops/alerts.yml"))["groups"]
    for rule in group["rules"]:
        assert rule["expr"], rule["alert"]
        assert rule["annotations"]["runbook"], rule["alert"]
    assert json.loads(text("ops/grafana.json"))["panels"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """Every link to a file or a heading of this repository is good."""
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", path.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        linked = path.parent / name if name else path
        assert linked.exists(), target
        headings = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
        slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in slugs, target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_exist(path: Path) -> None:
    """A path in backticks that starts with one of our folders is there."""
    named = re.findall(
        r"`((?:foreword|worker|api_shim|ops|tests|docs)/[\w./-]+)`", path.read_text(encoding="utf-8")
    )
    assert [name for name in named if not (ROOT / name).exists()] == []
