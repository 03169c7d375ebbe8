"""The command line against the running product, as a person or a script would type it."""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.services import Product, eventually

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(running_product: Product) -> Run:
    """Runs ``foreword`` with nothing but the data folder that the product runs on."""
    folder = {"FOREWORD_DATA_DIR": str(running_product.data_dir)}
    known = {name: value for name, value in os.environ.items() if not name.startswith("FOREWORD_")}

    def call(*arguments: str, stdin: str = "", **settings: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "foreword.cli", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=known | folder | settings,
        )

    return call


@pytest.fixture
def ref() -> str:
    """A memory of this test's own."""
    return f"test/{uuid.uuid4()}"


def _json(done: "subprocess.CompletedProcess[str]") -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_remember_then_list(run: Run, ref: str) -> None:
    """What ``remember`` wrote, ``list --json`` shows in the contract's form, within its budget."""
    written = run("remember", "-r", ref, "--wait", "30", "--tag", "t", "The customer prefers mornings.")
    assert written.returncode == 0, written.stderr
    entry_id, status = written.stdout.split()
    assert status == "filed"
    listed = _json(run("list", "-r", ref, "--token-budget", "800", "--json"))
    (entry,) = listed["entries"]
    assert (listed["memoryRef"], entry["id"], entry["tags"]) == (ref, entry_id, ["t"])
    assert entry["content"] == "The customer prefers mornings."
    assert set(entry) == {"id", "content", "tags", "createdAt"}
    assert listed["budget"]["tokenBudget"] == 800


def test_text_comes_from_stdin(run: Run, ref: str) -> None:
    """Without an argument the text is read from stdin, without its last newline; all metadata is kept."""
    run("remember", "-r", ref, "--wait", "30", "--metadata", '{"n": [1]}', stdin="ünïcode\n\n")
    (entry,) = _json(run("list", "-r", ref, "--fields", "all", "--json"))["entries"]
    assert (entry["content"], entry["metadata"]) == ("ünïcode\n", {"n": [1]})


def test_a_person_sees_text(run: Run, ref: str) -> None:
    """Without --json the entries are shown as text and what was left out is said beside them."""
    for content in ("short", "word " * 2000):
        run("remember", "-r", ref, "--wait", "30", content)
    shown = run("list", "-r", ref, "--token-budget", "50")
    assert "short" in shown.stdout
    assert "word" not in shown.stdout
    assert "1 by oversize" in shown.stderr


def test_get_receipt_stats_events(run: Run, ref: str) -> None:
    """One entry, its receipt, the memory's numbers and what happened can be asked for."""
    entry_id = _json(run("remember", "-r", ref, "--wait", "30", "--json", "text"))["id"]
    assert _json(run("get", "-r", ref, entry_id, "--json"))["costs"]["chars"] == 4
    assert run("receipt", "-r", ref, entry_id).stdout == "filed\n"
    assert _json(run("stats", "-r", ref, "--json"))["entries"] == 1
    assert _json(run("events", "-r", ref, "--json"))["events"][0]["memoryId"] == entry_id


def test_search_and_recall(run: Run, ref: str) -> None:
    """``search`` shows scores, ``recall`` prints the block alone and says beside it what it cost."""
    for content in ("The deploy window is 14:00 UTC.", "Invoices go to Ada."):
        run("remember", "-r", ref, "--wait", "30", "--tag", content[:3].lower(), content)
    shown = run("search", "-r", ref, "deploy window", "--mode", "lexical", "--token-budget", "10")
    assert "The deploy window is 14:00 UTC." in shown.stdout
    assert "score" in shown.stdout
    assert "10 o200k_base of 10" in shown.stderr
    narrow = run("search", "-r", ref, "--mode", "filter", "--filter", '{"tags": "inv"}', "--json")
    assert [entry["content"] for entry in _json(narrow)["entries"]] == ["Invoices go to Ada."]
    asked = ("recall", "-r", ref, "deploy window", "--token-budget", "1024", "--format", "markdown-prompt")
    block, told = run(*asked), _json(run(*asked, "--json"))
    assert block.stdout == told["text"]
    assert "The deploy window is 14:00 UTC." in block.stdout
    assert f"{told['budget']['used']} o200k_base of 1024" in block.stderr
    rows = json.loads(run("recall", "-r", ref, "deploy window", "--format", "json").stdout)
    assert "The deploy window is 14:00 UTC." in [row.get("text") for row in rows]
    again = run(*asked, "-r", f"{ref}/other", "--session", told["session"])
    assert again.stdout == ""
    assert run("recall", "-r", ref, "x", "--format", "html").returncode == 2
    ranked = run("list", "-r", ref, "--rank", "relevance", "--query", "deploy window", "--json")
    assert set(_json(ranked)) >= {"entries", "budget"}


def test_reembed_has_nothing_to_do(run: Run, ref: str) -> None:
    """On a running product ``reembed`` needs no settings, ends well and leaves the same model serving."""
    run("remember", "-r", ref, "--wait", "30", "text")
    done = run("reembed")
    assert done.returncode == 0, done.stderr
    found = json.loads(run("doctor", "--json").stdout)
    assert {finding["state"] for finding in found if finding["check"] in ("embedder", "model")} == {"ok"}


def test_what_was_set_aside_is_tried_again(run: Run, ref: str, product: dict[str, Any]) -> None:
    """``reembed --failed`` gives what got no vector in five attempts another, and says how many did."""
    run("remember", "-r", ref, "--wait", "30", "text")
    vectors = "FROM vectors v USING scopes s WHERE s.tenant_id = v.tenant_id AND s.scope_id = v.scope_id"
    with psycopg.connect(product["databaseUrl"], autocommit=True) as owner:
        lose = (
            f"DELETE {vectors} AND s.memory_ref = %s RETURNING v.tenant_id, v.scope_id, v.id, v.model_id, 5"
        )
        aside = f"""WITH lost AS ({lose}) INSERT INTO unembedded (tenant_id, scope_id, id, model_id, failures)
                    SELECT * FROM lost RETURNING 1"""
        eventually(lambda: owner.execute(aside.encode(), [ref]).fetchall(), "it has its vector")
    done = run("reembed", "--failed")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("1 tried, 0 failed again\n")
    query = "SELECT count(*) FROM vectors v JOIN scopes s USING (tenant_id, scope_id) WHERE s.memory_ref = %s"
    with psycopg.connect(product["databaseUrl"]) as owner:
        assert owner.execute(query, [ref]).fetchone() == (1,)


def test_delete_and_forget(run: Run, ref: str) -> None:
    """A removed entry is gone at once; asking for it exits 6; ``forget --yes`` says how many went."""
    ids = [_json(run("remember", "-r", ref, "--wait", "30", "--json", text))["id"] for text in "abc"]
    assert run("delete", "-r", ref, ids[0]).returncode == 0
    gone = run("get", "-r", ref, ids[0])
    assert (gone.returncode, gone.stderr.count("\n")) == (6, 1)
    assert run("forget", "-r", ref, "--yes").stdout == "removed 2\n"
    assert _json(run("list", "-r", ref, "--json"))["entries"] == []


def test_a_memory_moves_through_a_file(run: Run, ref: str, tmp_path: Path) -> None:
    """``export -o`` leaves a whole file and no other; ``import`` takes it elsewhere, twice as once."""
    for text in ("one", "two\u2028lines"):
        run("remember", "-r", ref, "--wait", "30", text)
    file = tmp_path / "out" / "memory.jsonl"
    file.parent.mkdir()
    assert run("export", "-r", ref, "-o", str(file)).returncode == 0
    assert list(file.parent.iterdir()) == [file]
    assert file.read_bytes() == run("export", "-r", ref).stdout.encode()
    for _ in range(2):
        assert run("import", "-r", f"{ref}/copy", str(file)).stdout == "accepted 2\n"
    deadline = time.monotonic() + 60
    while len(entries := _json(run("list", "-r", f"{ref}/copy", "--json"))["entries"]) < 2:
        assert time.monotonic() < deadline
    assert [entry["content"] for entry in entries] == ["two\u2028lines", "one"]


def test_a_bad_line_is_named(run: Run, ref: str) -> None:
    """An import with a broken line exits 2 and names the line."""
    done = run("import", "-", stdin='{"memoryRef": "x", "id": "1", "content": "x"}\n{broken\n')
    assert done.returncode == 2
    assert "Line 2" in done.stderr


def test_secrets_come_from_stdin(run: Run, ref: str) -> None:
    """A secret is registered from a pipe, hides its value, is listed by id alone, and can be dropped."""
    value = f"hunter-{uuid.uuid4().hex}"
    assert run("secrets", "set", "cli-secret", stdin=value + "\n").returncode == 0
    run("remember", "-r", ref, "--wait", "30", f"it is {value}")
    listed = run("secrets", "list", "--json")
    assert "cli-secret" in _json(listed)
    assert value not in listed.stdout
    entries = _json(run("list", "-r", ref, "--json"))["entries"]
    assert entries[0]["content"] == "it is [REDACTED:cli-secret]"
    assert run("secrets", "delete", "cli-secret").returncode == 0
    assert "cli-secret" not in _json(run("secrets", "list", "--json"))


def test_tenants_and_keys(run: Run, product: dict[str, Any], ref: str) -> None:
    """A new key reads its tenant's memory only, is listed without its secret, and can be revoked."""
    name = f"tenant-{uuid.uuid4().hex[:8]}"
    assert run("tenants", "create", name).returncode == 0
    assert name in [tenant["tenant"] for tenant in _json(run("tenants", "list", "--json"))]
    key = run("keys", "create", "--tenant", name, "--scope", "read").stdout.strip()
    run("remember", "-r", ref, "--wait", "30", "of the first tenant")
    theirs = {"FOREWORD_URL": product["url"], "FOREWORD_API_KEY": key}
    assert _json(run("list", "-r", ref, "--json", **theirs))["entries"] == []
    assert run("remember", "-r", ref, "text", **theirs).returncode == 5
    (listed,) = _json(run("keys", "list", "--tenant", name, "--json"))
    assert listed["scopes"] == ["read"]
    assert key.rpartition("_")[2] not in json.dumps(listed)
    assert run("keys", "revoke", listed["keyId"]).returncode == 0
    assert run("keys", "revoke", listed["keyId"]).returncode == 6
    deadline = time.monotonic() + 15
    while run("list", "-r", ref, **theirs).returncode != 5:
        assert time.monotonic() < deadline, "a revoked key still works"


def test_a_tenant_chooses_its_personal_data(run: Run, product: dict[str, Any], ref: str) -> None:
    """Personal data stays as it is by default, is redacted once chosen, and only for who chose it."""
    name = f"tenant-{uuid.uuid4().hex[:12]}"
    run("tenants", "create", name)
    key = run("keys", "create", "--tenant", name).stdout.strip()
    text = "Mail ada@example.org or pay to DE89370400440532013000."

    def written(api_key: str) -> str:
        done = run("remember", "-r", ref, "--wait", "30", text, FOREWORD_API_KEY=api_key)
        assert done.returncode == 0, done.stderr
        listed = _json(run("list", "-r", ref, "--limit", "1", "--json", FOREWORD_API_KEY=api_key))
        return str(listed["entries"][0]["content"])

    assert written(key) == text
    assert run("tenants", "pii", name, "--kind", "email", "--kind", "iban").returncode == 0
    assert written(key) == "Mail [REDACTED:email] or pay to [REDACTED:iban]."
    assert written(product["apiKey"]) == text
    assert run("tenants", "pii", "nobody-here").returncode == 6


def test_the_doctor_finds_nothing_wrong(run: Run) -> None:
    """On a running product every finding is fine and the doctor exits 0."""
    found = run("doctor", "--json")
    problems = [finding for finding in json.loads(found.stdout) if finding["state"] == "problem"]
    assert problems == []
    assert found.returncode == 0
    checks = {finding["check"] for finding in json.loads(found.stdout)}
    assert checks >= {"python", "counters", "programs", "data folder", "product", "ledger", "redis", "broker"}
    assert checks >= {"embedder", "model", "vectors"}


def test_the_doctor_sees_what_no_read_shows(run: Run, ref: str) -> None:
    """Entries that exceed a usual budget, and memories of nothing else, are a warning, not a problem."""
    run("remember", "-r", ref, "--wait", "30", "word " * 2000)
    found = run("doctor")
    assert found.returncode == 0
    assert "warning  entries: " in found.stdout
    assert "no entry fits 1,024 tokens" in found.stdout
    assert ref not in found.stdout


def test_the_doctor_finds_what_is_away(run: Run) -> None:
    """A ledger that is away is a problem with the command that mends it, without its password; exit 1."""
    away = "postgresql://u:hunter2@127.0.0.1:1/x"
    found = run("doctor", "--database-url", away)
    assert found.returncode == 1
    assert "PROBLEM  ledger" in found.stdout
    assert "foreword up" in found.stdout
    assert "hunter2" not in found.stdout + found.stderr


def test_a_server_that_is_away_exits_8(run: Run) -> None:
    """A server nobody runs is said in one line, and the exit code says: try again."""
    done = run("list", "-r", "a", FOREWORD_URL="http://127.0.0.1:1", FOREWORD_API_KEY="fw_x")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (8, "", 1)


def test_retry_and_recount_know_the_running_product(run: Run) -> None:
    """``retry`` and ``recount`` have nothing to do on a healthy product, and need no settings to say so."""
    done = run("retry")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0 tried, 0 failed again\n"
    assert run("recount").returncode == 0
