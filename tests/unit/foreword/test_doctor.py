"""The doctor, as far as it goes without servers."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from foreword.doctor import Finding, Place, machine, parts, relevance
from foreword.embedded.credentials import Credentials
from foreword.seal import new_secret_key, public_key


def _place(folder: Path, **environment: str) -> Place:
    return Place(data_dir=folder, here=None, environment=environment)


def _problems(found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.state == "problem"]


def test_this_machine_is_fine(tmp_path: Path) -> None:
    """Here, where the tests run, the interpreter, counters, programs and the folder are in order."""
    found = [finding for check in machine.CHECKS for finding in check(_place(tmp_path / "new"))]
    assert _problems(found) == []
    assert {finding.check for finding in found} == {"python", "counters", "programs", "data folder"}


def test_readable_credentials_are_a_problem(tmp_path: Path) -> None:
    """Credentials that others can read are a problem with the command that closes them."""
    file = tmp_path / "credentials.json"
    Credentials.fresh().save(file)
    assert _problems(list(machine.folder(_place(tmp_path)))) == []
    file.chmod(0o644)
    (problem,) = _problems(list(machine.folder(_place(tmp_path))))
    assert problem.mend is not None
    assert problem.mend.startswith(f"chmod 600 {file}")


def test_seal_keys_must_match(tmp_path: Path) -> None:
    """A public key that no opening key here belongs to is a problem; one of an older key is not."""
    kept = Credentials.fresh()
    kept.save(tmp_path / "credentials.json")
    given = new_secret_key()
    for sealing, opening, state in (
        (kept.seal_keys[0], "", "ok"),
        (given, f"{new_secret_key()},{given}", "ok"),
        (given, "", "problem"),
    ):
        place = _place(tmp_path, FOREWORD_SEAL_PUBLIC_KEY=public_key(sealing), FOREWORD_SEAL_KEYS=opening)
        (finding,) = parts.seal_keys(place)
        assert finding.state == state


def test_spoilt_credentials_are_said(tmp_path: Path) -> None:
    """A credentials file that cannot be understood is a problem, and none of its text is shown."""
    (tmp_path / "credentials.json").write_text('{"apiKey": "fw_canary"')
    (problem,) = _problems(list(parts.seal_keys(_place(tmp_path))))
    assert "canary" not in json.dumps(asdict(problem))


@pytest.mark.parametrize("setting", ["FOREWORD_REDIS_URL", "FOREWORD_BROKER_URL", "FOREWORD_DATABASE_URL"])
def test_what_is_away_is_a_problem(tmp_path: Path, setting: str) -> None:
    """A server that does not answer is a problem that names its setting and not its password."""
    scheme = "postgresql" if "DATABASE" in setting else "redis"
    place = _place(tmp_path, **{setting: f"{scheme}://u:hunter2@127.0.0.1:1/0"})
    checks = (parts.ledger, parts.redis, parts.broker)
    problems = _problems([finding for check in checks for finding in check(place)])
    assert problems
    assert any(setting in (problem.mend or "") for problem in problems)
    assert "hunter2" not in repr(problems)


def test_a_place_shows_no_password(tmp_path: Path) -> None:
    """The place itself can be printed."""
    assert "hunter2" not in repr(_place(tmp_path, FOREWORD_REDIS_URL="redis://:hunter2@a"))


def test_a_wrong_clock_is_a_problem() -> None:
    """Two clocks more than two seconds apart are a problem."""
    assert parts._clock(0.5).state == "ok"
    assert parts._clock(3600.0).state == "problem"


def test_vectors_that_nobody_makes_are_a_warning() -> None:
    """Many entries may wait for a moment; one that waits for long says that nobody embeds, and who would."""
    assert relevance._waiting("model", 100_000, 599.0).state == "ok"
    stuck = relevance._waiting("model", 1, 601.0)
    assert (stuck.state, stuck.mend) == ("warning", "foreword embed")


def test_a_url_that_is_given_is_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that is named comes before the one of the environment."""
    monkeypatch.setenv("FOREWORD_URL", "http://127.0.0.1:1")
    place = Place.of(tmp_path, url="http://127.0.0.1:2")
    (finding,) = parts.product(place)
    assert finding.message.startswith("http://127.0.0.1:2 ")
