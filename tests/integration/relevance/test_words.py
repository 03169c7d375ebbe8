"""Words of every script, hostile questions, and entries that no search may find."""

import pytest

from foreword import instant
from foreword.draft import Draft
from foreword.scope import Scope
from tests.integration.relevance.library import MODES, Library
from tests.integration.rig import Rig
from worker.upkeep.expire import expire

HOSTILE = [
    "' & | ! :* <->",
    "'; DROP TABLE entries; --",
    "$$ select 1 $$",
    "%s %(tenant)s %%",
    "{filter} {join} {0} {",
    "}} {vector!r}",
    "\\' \\x00 \\",
    "a:*b & !c | (d <-> e)",
    "@Ann",
    "<b>&amp;</b> /etc/passwd http://x.y/?q='--",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_question_is_only_words(library: Library, rig: Rig, text: str) -> None:
    """Operators, quotes, placeholders and braces of a question or a filter are text, in every mode."""
    scope, other = rig.scope(rig.tenant()), rig.scope(rig.tenant())
    library.write(scope, f"note {text}", "plain", speaker="Ann")
    library.write(other, f"theirs {text}")
    for mode in MODES:
        assert set(library.ids(scope, mode, text)) <= {"e0", "e1"}
        assert library.ids(scope, mode, text, {"kind": text}) == []
        assert library.ids(scope, mode, text, {"metadata.a": text}) == []
        assert library.ids(scope, mode, text, {"tags": {"in": [text, "x"]}}) == []


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("私は黒猫が好きです", "黒猫"),
        ("私は黒猫が好きです", "猫"),
        ("昨日は雨", "雨"),
        ("人々の声", "人々"),
        ("북한산에 갔다", "북한산"),
        ("我们在北京开会", "北京"),
        ("see def parse_draft(obj) in draft.py", "parse_draft"),
        ("the gateway listens on 10.1.2.33", "10.1.2.33"),
        ("Die Straße ist gesperrt", "Straße"),
    ],
)
def test_words_of_every_script_are_found(library: Library, scope: Scope, content: str, question: str) -> None:
    """A word is found by the lexical leg in CJK, code and accents, one CJK character among them."""
    library.write(scope, "something else", content, "別の話")
    assert library.ids(scope, "lexical", question) == ["e1"]
    assert library.ids(scope, "hybrid", question, floor=1.0)[0] == "e1"


def test_emoji_have_no_words_and_do_no_harm(library: Library, scope: Scope) -> None:
    """An entry of emoji alone is read by meaning and by filter; a question of emoji finds no words."""
    library.write(scope, "🐈‍⬛🎉", "plain")
    assert library.ids(scope, "lexical", "🐈‍⬛") == []
    assert set(library.ids(scope, "filter")) == {"e0", "e1"}
    assert "e0" in library.ids(scope, "hybrid", "🎉")


def test_a_long_question_is_cut_and_says_so(library: Library, scope: Scope) -> None:
    """Of a hundred thousand characters the end counts, the same every time, and the answer tells."""
    library.write(scope, "zebra crossing", "plain")
    long = "word " * 20_000 + "zebra"
    for mode in ("semantic", "lexical", "hybrid"):
        found = library.search(scope, mode, long)  # type: ignore[arg-type]
        assert found.is_cut
        assert [row["id"] for row in found.rows] == library.ids(scope, mode, long)  # type: ignore[arg-type]
    assert library.ids(scope, "lexical", long) == ["e0"]


def found_by(library: Library, scope: Scope, text: str) -> set[str]:
    """Ids that any mode finds."""
    return {found for mode in MODES for found in library.ids(scope, mode, text)}


def test_what_is_gone_is_found_by_no_mode(library: Library, rig: Rig, scope: Scope) -> None:
    """Deleted, forgotten, expired and superseded entries are in no answer and leave nothing in an index."""
    library.write(scope, *(f"zebra {name}" for name in ("kept", "deleted", "expired", "superseded")))
    rig.run(rig.remover.remove(scope, "e1"))
    library.owner.execute(
        "UPDATE entries SET expires_at = now() - interval '1 s' WHERE tenant_id = %s AND id = 'e2'",
        [scope.tenant],
    )
    library.owner.execute("UPDATE vectors SET expires_at = now() - interval '1 s' WHERE id = 'e2'")
    library.write(
        scope, Draft(memory_ref=scope.memory_ref, content="zebra newer", id="new", supersedes=("e3",))
    )
    assert found_by(library, scope, "zebra") == {"e0", "new"}
    expire(rig.parts(clock=lambda: instant.now_ms() + 1000))
    assert library.traces(scope) == {"vectors": 2, "postings": 4, "unembedded": 0}
    counts = library.rows("SELECT documents, terms FROM scopes WHERE tenant_id = %s", scope.tenant)
    assert counts == [(2, 4)]
    rig.run(rig.remover.forget(scope, None, None))
    assert found_by(library, scope, "zebra") == set()
    assert library.traces(scope) == {"vectors": 0, "postings": 0, "unembedded": 0}


def test_what_waits_for_a_vector_is_found_by_words(library: Library, scope: Scope) -> None:
    """An entry without a vector is found by words, in hybrid whatever the floor; semantic counts it."""
    library.write(scope, "zebra crossing", embedded=False)
    assert library.ids(scope, "lexical", "zebra") == ["e0"]
    assert library.ids(scope, "hybrid", "zebra", floor=1.0) == ["e0"]
    found = library.search(scope, "semantic", "zebra")
    assert (list(found.rows), found.report.omitted.similarity) == ([], 1)
    library.embed(scope.tenant)
    assert library.ids(scope, "semantic", "zebra") == ["e0"]


def test_a_rewritten_entry_is_found_by_its_new_words_alone(library: Library, scope: Scope) -> None:
    """When content is rewritten its old words and vector go at once, and it waits for a new vector."""
    library.write(scope, "zebra crossing")
    library.owner.execute("UPDATE entries SET content = 'lion' WHERE tenant_id = %s", [scope.tenant])
    assert library.ids(scope, "lexical", "zebra") == []
    assert library.ids(scope, "semantic", "zebra") == []
    assert library.traces(scope) == {"vectors": 0, "postings": 1, "unembedded": 1}
    assert library.embed(scope.tenant) == 1
    assert library.ids(scope, "semantic", "lion") == ["e0"]


def test_scopes_and_tenants_are_apart(library: Library, rig: Rig) -> None:
    """The same words under another ref or tenant are in no answer, and nothing tells them from none."""
    tenant = rig.tenant()
    mine, sibling, foreign = rig.scope(tenant), rig.scope(tenant), rig.scope(rig.tenant())
    for scope, name in ((mine, "mine"), (sibling, "sibling"), (foreign, "foreign")):
        library.write(scope, Draft(memory_ref=scope.memory_ref, content="zebra crossing", id=name))
    assert found_by(library, mine, "zebra") == {"mine"}
    unknown, outside = Scope(tenant, "never written"), Scope(tenant, foreign.memory_ref)
    for mode in MODES:
        assert library.search(unknown, mode, "zebra") == library.search(outside, mode, "zebra")
        assert library.search(unknown, mode, "zebra").rows == []
