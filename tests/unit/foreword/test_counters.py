"""Counters count exactly, offline, or not at all."""

import gzip
import json
import subprocess
import sys
import textwrap
import threading
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from foreword import counters
from foreword.counters import COUNTERS, DEFAULT_COUNTER, Counter, CounterSpec, counter, counter_spec
from foreword.errors import CounterUnavailable, ValidationError

TRUTH = Path(__file__).parents[2] / "data/tokens/truth.jsonl.gz"
BPE = ["o200k_base", "cl100k_base"]


@pytest.fixture(scope="module")
def truth() -> list[dict[str, Any]]:
    """The truth table's rows."""
    return [json.loads(line) for line in gzip.decompress(TRUTH.read_bytes()).splitlines()]


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters as a fresh process has them."""
    monkeypatch.setattr(counters, "_loaded", {})


@pytest.fixture
def ranks_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unloaded: None) -> Path:
    """A folder that counters read their ranks from."""
    package = tmp_path / "ranks"
    package.mkdir()
    monkeypatch.setattr(counters, "files", lambda _name: package)
    return package


@pytest.mark.parametrize("name", [*BPE, "chars"])
def test_truth_table(truth: list[dict[str, Any]], name: str) -> None:
    """Every row of the truth table is counted exactly, one by one and as a batch."""
    assert len(truth) == 446
    exact = [row[name] for row in truth]
    assert [counter(name).count(row["text"]) for row in truth] == exact
    assert counter(name).count_batch([row["text"] for row in truth]) == exact


def test_host_defined_is_a_quarter_rounded_up(truth: list[dict[str, Any]]) -> None:
    """The host's own counter is code points over four, rounded up: only the empty text is free."""
    for row in truth:
        cost = counter("host-defined").count(row["text"])
        assert 4 * cost >= row["chars"] > 4 * (cost - 1)
    assert counter("host-defined").count("") == 0
    assert counter("host-defined").count("abc") == 1


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        ("docs mention <|endoftext|> here", 10, 9),
        ("<|endoftext|>", 7, 7),
        ("固" * 100, 100, 200),
        ("a" * 2000, 250, 250),
        (" " * 800, 7, 7),
    ],
)
def test_known_counts(text: str, o200k: int, cl100k: int) -> None:
    """Special-token text is text, and scripts and runs cost what the encodings make of them."""
    assert counter("o200k_base").count(text) == o200k
    assert counter("cl100k_base").count(text) == cl100k


def test_ordinals_are_places_in_stored_costs() -> None:
    """The registry is in ordinal order, from 0, and these four never move."""
    assert {name: spec.ordinal for name, spec in COUNTERS.items()} == {
        "o200k_base": 0,
        "cl100k_base": 1,
        "chars": 2,
        "host-defined": 3,
    }
    assert [spec.ordinal for spec in COUNTERS.values()] == list(range(len(COUNTERS)))
    assert all(counter(name).ordinal == spec.ordinal for name, spec in COUNTERS.items())
    assert all(counter(name).name == name for name in COUNTERS)
    assert DEFAULT_COUNTER in COUNTERS


@pytest.mark.parametrize("name", ["o200k", "O200K_BASE", "", None, 3, ["chars"]])
def test_an_unknown_name_names_the_known_ones(name: Any) -> None:
    """A counter nobody registered is refused, and the refusal lists what there is."""
    for look_up in (counter, counter_spec):
        with pytest.raises(ValidationError) as refused:
            look_up(name)
        assert all(known in refused.value.fields[0].reason for known in COUNTERS)


def test_loaded_once_whoever_asks(monkeypatch: pytest.MonkeyPatch, unloaded: None) -> None:
    """Threads that ask at the same moment share one loading."""
    loadings: list[int] = []

    def load() -> Any:
        loadings.append(1)
        return len

    spec = CounterSpec(name="slow", ordinal=9, load=load)
    monkeypatch.setattr(counters, "COUNTERS", {**COUNTERS, "slow": spec})
    gate, got = threading.Barrier(8), []

    def ask() -> None:
        gate.wait()
        got.append(counter("slow"))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loadings) == 1
    assert len(set(map(id, got))) == 1


@pytest.mark.parametrize("name", BPE)
def test_a_changed_rank_file_is_refused(ranks_in: Path, name: str) -> None:
    """One changed byte in the ranks and the counter does not count, now or on the next try."""
    data = bytearray(gzip.decompress(files("foreword.ranks").joinpath(f"{name}.tiktoken.gz").read_bytes()))
    data[1000] ^= 1
    (ranks_in / f"{name}.tiktoken.gz").write_bytes(gzip.compress(bytes(data), compresslevel=1))
    for _ in range(2):
        with pytest.raises(CounterUnavailable, match="not the ones"):
            counter(name)


@pytest.mark.parametrize("spoil", ["missing", "cut", "no gzip"])
def test_an_unreadable_rank_file_is_refused(ranks_in: Path, spoil: str) -> None:
    """A rank file that is gone, cut short or something else gives a clear refusal."""
    whole = files("foreword.ranks").joinpath("cl100k_base.tiktoken.gz").read_bytes()
    if spoil != "missing":
        (ranks_in / "cl100k_base.tiktoken.gz").write_bytes(whole[:5000] if spoil == "cut" else b"ranks")
    with pytest.raises(CounterUnavailable, match="cannot be read"):
        counter("cl100k_base")


def test_without_tiktoken_only_bpe_counters_are_away(monkeypatch: pytest.MonkeyPatch, unloaded: None) -> None:
    """Without tiktoken a BPE counter says what to install; the others go on."""
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(CounterUnavailable, match="pip install"):
        counter("o200k_base")
    assert counter("chars").count("four") == 4
    assert counter("host-defined").count("four") == 1


def test_a_recipe_that_would_fetch_elsewhere_is_refused(
    monkeypatch: pytest.MonkeyPatch, unloaded: None
) -> None:
    """A tiktoken that reaches for another loader finds none in scope and is refused, not obeyed."""
    recipes: Any = import_module("tiktoken_ext.openai_public")

    def cl100k_base() -> dict[str, Any]:
        return data_gym_to_mergeable_bpe_ranks("nowhere")  # type: ignore # noqa: F821

    monkeypatch.setitem(recipes.ENCODING_CONSTRUCTORS, "cl100k_base", cl100k_base)
    with pytest.raises(CounterUnavailable, match="not known here"):
        counter("cl100k_base")


def test_no_socket_no_cache_folder(tmp_path: Path) -> None:
    """A fresh process counts with sockets forbidden, and leaves tiktoken's cache folder as it was."""
    (tmp_path / "cache").mkdir()
    script = textwrap.dedent(
        """
        import socket, sys
        from foreword.counters import COUNTERS, counter
        assert "tiktoken" not in sys.modules
        def refuse(*_args, **_kwargs):
            raise AssertionError("a counter opened a socket")
        socket.socket = refuse
        print([counter(name).count("hello world") for name in COUNTERS])
        """
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"TIKTOKEN_CACHE_DIR": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)},
        cwd=Path(__file__).parents[3],
    )
    assert ran.stdout.strip() == "[2, 2, 11, 3]"
    assert list(tmp_path.rglob("*")) == [tmp_path / "cache"]


def test_a_run_of_blanks_that_would_panic_is_refused() -> None:
    """A million blanks in a row, which crash tiktoken past every handler, are refused; fewer are counted."""
    for name in BPE:
        with pytest.raises(CounterUnavailable):
            counter(name).count("x" + " " * 1_000_000)
    assert counter("o200k_base").count(("x" + " " * 899_999) * 2) > 0


def test_every_counter_keeps_the_port() -> None:
    """Each registered counter is a Counter and agrees with itself, batch or not."""
    texts = ["", "a", "two words", "😀", "\ud800"]
    for name in COUNTERS:
        one: Counter = counter(name)
        assert one.count_batch(texts) == [one.count(text) for text in texts]
        assert one.count_batch([]) == []
