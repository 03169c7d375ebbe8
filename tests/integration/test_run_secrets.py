"""Runs: what one resolved is in nothing it wrote, whatever becomes of it."""

import base64
import json
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from foreword.errors import Conflict
from foreword.seal import Sealer, new_secret_key, public_key
from tests.integration.rig import Rig
from tests.integration.running import as_tenant, begin, draft, end, events, kept, register, secrets_of
from worker.parts import Parts
from worker.upkeep.jobs import run_jobs
from worker.upkeep.runs import RUN_DAYS, expire_runs
from worker.write import drain

VALUE = 'c4nary "value"+1/é'
"""What a run resolves: nothing about its shape tells that it is a secret."""


def test_a_run_of_another_tenant_is_none(rig: Rig, tenant: int, parts: Parts, shim: Any, owner: Any) -> None:
    """A Draft that names another tenant's run is filed by plain rules, and told to nobody."""
    victim = rig.tenant()
    begin(shim, victim, "theirs")
    assert register(shim, rig, victim, "theirs", "k", VALUE)
    assert not register(shim, rig, tenant, "theirs", "k", VALUE)
    scope = rig.scope(tenant)
    rig.accept(tenant, [draft(scope, "e", "theirs", f"told {VALUE}"), draft(scope, "f", "unknown")])
    assert drain(tenant, parts) == 2
    assert "told c4nary" in kept(owner, tenant)["e"]
    assert events(owner, victim, "theirs") == []
    assert owner.execute("SELECT count(*) FROM run_events WHERE tenant_id = %s", [tenant]).fetchone() == (0,)


def test_what_a_run_resolved_is_hidden(rig: Rig, tenant: int, parts: Parts, shim: Any, owner: Any) -> None:
    """In every field and spelling, once registered, each value of an id; and in no other run's Drafts."""
    scope, run = rig.scope(tenant), begin(shim, tenant, "resolving")
    begin(shim, tenant, "innocent")
    rig.accept(tenant, [draft(scope, "before", run, VALUE)])
    drain(tenant, parts)
    assert register(shim, rig, tenant, run, "vault-1", VALUE)
    assert register(shim, rig, tenant, run, "vault-1", "a second value of it")
    assert register(shim, rig, tenant, run, "vault-2", "a second value of it, and more")
    spelled = [base64.b64encode(VALUE.encode()).decode(), quote(VALUE), json.dumps(VALUE)[1:-1], VALUE]
    rig.accept(
        tenant,
        [
            draft(
                scope,
                "after",
                run,
                f"{' '.join(spelled)}; a second value of it; a second value of it, and more",
                tags=(VALUE,),
                metadata={VALUE: [VALUE]},
                source=VALUE,
                speaker=VALUE,
                conversation=VALUE,
            ),
            draft(scope, "other", "innocent", VALUE),
            draft(scope, "plain", None, VALUE),
        ],
    )
    drain(tenant, parts)
    found = kept(owner, tenant)
    assert not any(form in found["after"] for form in [*spelled, "c4nary", "second value", "and more"])
    content = owner.execute(
        "SELECT content FROM entries WHERE tenant_id = %s AND id = 'after'", [tenant]
    ).fetchone()
    assert content == (
        "[REDACTED:vault-1] " * 3 + "[REDACTED:vault-1]; [REDACTED:vault-1]; [REDACTED:vault-2]",
    )
    assert all("c4nary" in found[name] for name in ("before", "other", "plain"))
    assert "c4nary" not in json.dumps([payload for _, _, payload in events(owner, tenant, run)[1:]])


def test_the_tenants_secrets_hold_in_a_run_too(
    rig: Rig, tenant: int, parts: Parts, shim: Any, owner: Any
) -> None:
    """Longest first over both: a value of the run within a longer one of the tenant, and the reverse."""
    sealer = Sealer(public_key(rig.seal_key))
    for name, value in (("long", "xx inner-value-1 xx"), ("short", "inner-value-2")):
        as_tenant(
            shim,
            tenant,
            "INSERT INTO secrets (tenant_id, secret_id, sealed) VALUES (current_tenant(), %s, %s)",
            name,
            sealer.seal(value.encode()),
        )
    scope, run = rig.scope(tenant), begin(shim, tenant, "both")
    register(shim, rig, tenant, run, "run-short", "inner-value-1")
    register(shim, rig, tenant, run, "run-long", "yy inner-value-2 yy")
    register(shim, rig, tenant, run, "tiny", "seven77")
    rig.accept(
        tenant,
        [
            draft(
                scope,
                "e",
                run,
                "xx inner-value-1 xx, inner-value-1, yy inner-value-2 yy, inner-value-2, seven77",
            ),
        ],
    )
    drain(tenant, parts)
    expected = "[REDACTED:long], [REDACTED:run-short], [REDACTED:run-long], [REDACTED:short], seven77"
    assert expected in kept(owner, tenant)["e"]


def test_a_registry_outlives_the_drafts_it_protects(
    rig: Rig, tenant: int, parts: Parts, shim: Any, owner: Any
) -> None:
    """The run ends and days pass while a Draft of it waits: the Draft is redacted all the same."""
    scope, run = rig.scope(tenant), begin(shim, tenant, "ended")
    register(shim, rig, tenant, run, "k", VALUE)
    rig.accept(tenant, [draft(scope, "late", run, VALUE)])
    assert end(shim, tenant, run) == 0
    later = rig.parts(clock=lambda: parts.clock() + (RUN_DAYS + 1) * 86_400_000)
    expire_runs(tenant, later)
    assert secrets_of(owner, tenant) == 1
    drain(tenant, parts)
    assert "[REDACTED:k]" in kept(owner, tenant)["late"]
    expire_runs(tenant, parts)
    assert secrets_of(owner, tenant) == 0
    assert len(events(owner, tenant, run)) == 1
    expire_runs(tenant, later)
    assert owner.execute("SELECT count(*) FROM runs WHERE tenant_id = %s", [tenant]).fetchone() == (0,)
    assert events(owner, tenant, run) == []


def test_a_registry_dies_with_its_run(rig: Rig, tenant: int, parts: Parts, shim: Any, owner: Any) -> None:
    """The end removes it at once; upkeep removes that of a run whose server is gone, and no living one's."""
    for run, lease in (("done", "1 hour"), ("living", "1 hour"), ("lost", "1 hour")):
        begin(shim, tenant, run, lease)
        assert register(shim, rig, tenant, run, "k", VALUE)
    assert end(shim, tenant, "done") == 1
    as_tenant(
        shim, tenant, "UPDATE runs SET lease_until = now() - %s WHERE run_id = 'lost'", timedelta(seconds=1)
    )
    expire_runs(tenant, parts)
    assert secrets_of(owner, tenant) == 1
    assert end(shim, tenant, "living") == 1


@pytest.mark.parametrize("how", ["finished_at = now()", "lease_until = now() - interval '1 second'"])
def test_a_run_that_is_over_takes_nothing(how: str, rig: Rig, tenant: int, shim: Any, owner: Any) -> None:
    """After the end, or past the lease, neither a secret nor a Draft is accepted, and no batch with one."""
    scope, run = rig.scope(tenant), begin(shim, tenant, "over")
    as_tenant(shim, tenant, f"UPDATE runs SET {how}")
    assert not register(shim, rig, tenant, run, "k", VALUE)
    with pytest.raises(Conflict) as refused:
        rig.accept(tenant, [draft(scope, "of no run", None), draft(scope, "late", run)])
    assert refused.value.details == {"field": "run"}
    left = owner.execute("SELECT count(*) FROM inbox WHERE tenant_id = %s", [tenant]).fetchone()
    assert left == (0,)


def test_what_cannot_be_opened_files_nothing(
    rig: Rig, tenant: int, parts: Parts, shim: Any, owner: Any
) -> None:
    """A registry sealed to a key the worker lacks: the run's Draft fails and is not filed in the clear."""
    scope, run = rig.scope(tenant), begin(shim, tenant, "sealed")
    sealed = Sealer(public_key(new_secret_key())).seal(VALUE.encode())
    as_tenant(shim, tenant, "SELECT register_run_secrets(%s, ARRAY['k'], ARRAY[%s]::bytea[])", run, sealed)
    rig.accept(tenant, [draft(scope, "e", run, VALUE), draft(scope, "f", None)])
    drain(tenant, parts)
    assert list(kept(owner, tenant)) == ["f"]
    rig.run(rig.remover.remove(scope, "e"))


def test_a_secret_registered_later_is_swept_from_runs(
    rig: Rig, tenant: int, parts: Parts, shim: Any, owner: Any
) -> None:
    """Tags in events, variables and errors lose a value once its sweep has ended; names and numbers stay."""
    scope, run = rig.scope(tenant), begin(shim, tenant, "swept")
    rig.accept(tenant, [draft(scope, "e", run, tags=(VALUE,), node="n")])
    drain(tenant, parts)
    variables = {"list": [{"id": "e", "content": f"x {VALUE}"}], "n": 1.5, "token": "password1234"}
    as_tenant(
        shim,
        tenant,
        "UPDATE runs SET variables = %s::jsonb, error = %s::jsonb",
        json.dumps(variables),
        json.dumps(VALUE),
    )
    sealed = Sealer(public_key(rig.seal_key)).seal(VALUE.encode())
    with shim.transaction():
        shim.execute("SELECT set_config('foreword.tenant', %s, true)", [str(tenant)])
        shim.execute("INSERT INTO secrets VALUES (current_tenant(), 'late', %s)", [sealed])
        shim.execute(
            "UPDATE tenants SET secrets_version = secrets_version + 1 WHERE tenant_id = current_tenant()"
        )
        shim.execute("INSERT INTO jobs (tenant_id, kind) VALUES (current_tenant(), 'secret-sweep')")
    assert run_jobs(tenant, parts) == 1
    ((_, _, payload),) = events(owner, tenant, run)
    assert payload == {
        "memoryRef": scope.memory_ref,
        "memoryId": "e",
        "nodeId": "n",
        "tags": ["[REDACTED:late]"],
    }
    row = owner.execute("SELECT variables, error FROM runs WHERE tenant_id = %s", [tenant]).fetchone()
    variables["list"] = [{"id": "e", "content": "x [REDACTED:late]"}]
    assert row == (variables, "[REDACTED:late]")
