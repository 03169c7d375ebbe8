"""The gauges of what has no vector."""

from pathlib import Path

from foreword.doctor.finding import Place
from foreword.doctor.relevance import vectors
from tests.integration.relevance.library import Library
from tests.integration.rig import Rig
from tests.integration.test_backlog import asked


def test_entries_without_a_vector_are_told(rig: Rig, library: Library) -> None:
    """Who waits for a vector is counted and grows old, who was set aside is told apart, by the doctor too."""
    before, scopes = asked(rig, "unembedded"), [rig.scope(rig.tenant()), rig.scope(rig.tenant())]
    for scope in scopes:
        library.write(scope, "one", "two", embedded=False)
    aside = "UPDATE unembedded SET failures = 5 WHERE id = 'e0' AND tenant_id = ANY (%s)"
    library.owner.execute(aside, [[scope.tenant for scope in scopes]])
    during = asked(rig, "unembedded")
    assert during["waiting"] == before["waiting"] + 2
    assert during["failed"] == before["failed"] + 2
    assert 0 < during["oldest_seconds"] < 3600
    aged = "UPDATE unembedded SET queued_at = now() - interval '2 hours' WHERE id = %s AND tenant_id = %s"
    library.owner.execute(aged, ["e0", scopes[0].tenant])
    assert asked(rig, "unembedded")["oldest_seconds"] < 3600
    library.owner.execute(aged, ["e1", scopes[0].tenant])
    assert asked(rig, "unembedded")["oldest_seconds"] > 7000
    assert asked(rig, "unembedded", embeds=False) == {}
    told = {"FOREWORD_DATABASE_URL": rig.services.owner_url, "FOREWORD_EMBEDDER": "hashing"}
    found = list(vectors(Place(data_dir=Path("nowhere"), here=None, environment=told)))
    wrong = [(one.message, one.mend) for one in found if one.check == "vectors" and one.state == "warning"]
    assert [mend for _, mend in wrong] == [
        "foreword embed",
        "see the log of the embedding worker, then: foreword reembed --failed",
    ]
    assert wrong[1][0].startswith(f"{during['failed']:.0f} entries got no vector")
    for scope in scopes:
        assert library.embed(scope.tenant) == 1
        library.owner.execute("DELETE FROM unembedded WHERE tenant_id = %s", [scope.tenant])
    assert asked(rig, "unembedded")["waiting"] == before["waiting"]
