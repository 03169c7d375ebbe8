"""The examination of isolation, as far as it goes without a server."""

import json
from collections.abc import Iterator

import httpx
import pytest
from click.testing import CliRunner, Result

from foreword.cli.root import root
from foreword.doctor.isolation import Examination, Pair, Verdict
from foreword.doctor.isolation.probes import READS, REMOVALS
from foreword.doctor.isolation.target import Target
from foreword.errors import Unavailable

KEYS = {
    "FOREWORD_API_KEY": f"fw_1_{'0' * 8}_{'a' * 43}",
    "FOREWORD_OTHER_API_KEY": f"fw_2_{'0' * 8}_{'b' * 43}",
}
GOOD = Verdict(door="GET /v1/x", state="isolated")


def doctor(monkeypatch: pytest.MonkeyPatch, *found: Verdict, arguments: tuple[str, ...] = ()) -> Result:
    """The command, when this is found."""

    def verdicts(_: Examination) -> Iterator[Verdict]:
        yield from found

    monkeypatch.setattr(Examination, "verdicts", verdicts)
    command = ["doctor", "--isolation", "--url", "http://127.0.0.1:1", *arguments]
    return CliRunner().invoke(root, command, env=KEYS)


@pytest.mark.parametrize(
    ("state", "code"),
    [("isolated", 0), ("not served", 0), ("leaks", 1), ("tells apart", 1), ("unproven", 1)],
)
def test_one_bad_door_is_an_exit_code(monkeypatch: pytest.MonkeyPatch, state: str, code: int) -> None:
    """The exit code is 1 if any door leaks, tells apart or proves nothing; the table says which and why."""
    found = Verdict(door="GET /v1/y", state=state, detail="a reason")  # type: ignore[arg-type]
    done = doctor(monkeypatch, GOOD, found, GOOD)
    assert done.exit_code == code
    assert f"GET /v1/y  {state}" in done.output
    assert "a reason" in done.output


def test_it_can_be_read_by_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --json the verdicts are one list of objects."""
    bad = Verdict(door="GET /v1/y", state="leaks", detail="a reason")
    done = doctor(monkeypatch, GOOD, bad, arguments=("--json",))
    assert [Verdict(**row) for row in json.loads(done.stdout)] == [GOOD, bad]
    assert done.exit_code == 1


def test_a_server_that_is_away_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is proved of a server that does not answer: that is an error, and names no key."""
    pair = Pair(owner_key=KEYS["FOREWORD_API_KEY"], other_key=KEYS["FOREWORD_OTHER_API_KEY"])
    with pytest.raises(Unavailable) as caught:
        list(Examination("http://127.0.0.1:1", pair).verdicts())
    assert isinstance(caught.value.__cause__, httpx.HTTPError)
    assert "fw_" not in str(caught.value) + repr(pair)


def test_names_are_alike_but_for_themselves() -> None:
    """A stranger's names are as long as the owner's, and others; blurred, requests for both are the same."""
    target = Target.named()
    stranger = target.stranger()
    for name, value in vars(target).items():
        other = getattr(stranger, name)
        assert len(value) == len(other)
        assert value != other or not value
    for probe in (*READS, *REMOVALS):
        asked, unknown = probe.ask(target), probe.ask(stranger)
        assert asked != unknown
        shown = [
            side.blurred(json.dumps([request.path, dict(request.params), request.body]))
            for side, request in ((target, asked), (stranger, unknown))
        ]
        assert shown[0] == shown[1], probe.door


def test_each_door_has_a_name_of_its_own() -> None:
    """No two probes are told under one name."""
    doors = [probe.door for probe in (*READS, *REMOVALS)]
    assert len(set(doors)) == len(doors)
