"""What an entry leaves beside it: its words, its place in a conversation, its place in the embedding queue.

Whoever changes entries, and in whatever order, these are true when the statement that changed them ends.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from foreword import instant
from foreword.draft import Draft
from foreword.errors import NotFound
from foreword.scope import Scope
from tests.integration.relevance.library import Library
from tests.integration.rig import EFFORT, Rig
from worker.upkeep.expire import expire
from worker.write import drain

CONTENTS = [
    "zebra crossing",
    "Ann: the zebra crosses",
    "私は黒猫が好きです",
    "哈" * 70,
    "🎉",
    "zebra " * 9,
    "word " + "x" * 200,
]
SPEAKERS = [None, "Ann", "Bo"]
CONVERSATIONS = [None, "a", "b"]
NAMES = [f"e{n}" for n in range(12)]

WRITES = st.builds(
    dict,
    do=st.just("write"),
    which=st.lists(
        st.fixed_dictionaries(
            {
                "scope": st.integers(0, 1),
                "content": st.sampled_from(CONTENTS),
                "speaker": st.sampled_from(SPEAKERS),
                "conversation": st.sampled_from(CONVERSATIONS),
                "supersedes": st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple),
                "lasts": st.booleans(),
            }
        ),
        min_size=1,
        max_size=5,
    ),
)
CHANGES = st.builds(
    dict,
    do=st.sampled_from(["remove", "forget", "rewrite", "recount", "expire", "embed"]),
    scope=st.integers(0, 1),
    ids=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True),
    content=st.sampled_from(CONTENTS),
    speaker=st.sampled_from(SPEAKERS),
)

NOTE = {
    "scope": 0,
    "content": CONTENTS[0],
    "speaker": None,
    "conversation": None,
    "supersedes": (),
    "lasts": True,
}


def change(do: str, **given: Any) -> dict[str, Any]:
    """A change of the first entry."""
    return {"do": do, "scope": 0, "ids": ["e0"], "content": "lion", "speaker": None} | given


@dataclass
class Writer:
    """Two memories of one tenant, and everybody who changes what is in them."""

    library: Library
    scopes: Sequence[Scope]
    written: int = 0

    def act(self, step: dict[str, Any]) -> None:
        """Does one step."""
        getattr(self, step["do"])(**{name: value for name, value in step.items() if name != "do"})

    def write(self, which: Sequence[dict[str, Any]]) -> None:
        """The drain, batches of three."""
        drafts = []
        for one in which:
            drafts.append(
                Draft(
                    memory_ref=self.scopes[one["scope"]].memory_ref,
                    content=one["content"],
                    id=f"e{self.written}",
                    speaker=one["speaker"],
                    conversation=one["conversation"],
                    supersedes=one["supersedes"],
                    expires_at=None if one["lasts"] else instant.now_ms() + 3_600_000,
                )
            )
            self.written += 1
        self.library.rig.accept(self.tenant, drafts)
        drain(self.tenant, self.library.rig.parts(batch=3))

    def remove(self, scope: int, ids: list[str], **_: object) -> None:
        """The shim, one by one."""
        rig = self.library.rig
        for name in ids:
            with suppress(NotFound):
                rig.run(rig.remover.remove(self.scopes[scope], name))

    def forget(self, scope: int, **_: object) -> None:
        """The shim, a whole memory."""
        rig = self.library.rig
        rig.run(rig.remover.forget(self.scopes[scope], None, None))

    def expire(self, **_: object) -> None:
        """Upkeep, a day later."""
        expire(self.library.rig.parts(clock=lambda: instant.now_ms() + 86_400_000))

    def embed(self, **_: object) -> None:
        """The embedding process."""
        self.library.embed(self.tenant)

    def rewrite(self, scope: int, ids: list[str], content: str, speaker: str | None) -> None:
        """A sweep for secrets, over other texts and over the same."""
        self._upkeep("rewrite", scope, ids, content=content, speaker=speaker)

    def recount(self, scope: int, ids: list[str], content: str, **_: object) -> None:
        """A recount that finds other costs."""
        self._upkeep("recount", scope, ids, content=content)

    def _upkeep(self, name: str, scope: int, ids: list[str], **changes: Any) -> None:
        with self.library.rig.ledger.transaction(self.tenant) as filing:
            found = filing.run("lock_scope", of="ledger", ref=self.scopes[scope].memory_ref).fetchone()
            if found is None:
                return
            query = "SELECT *, encode(sha256(convert_to(content, 'UTF8')), 'hex') AS digest FROM entries"
            rows = [
                {
                    **{
                        key: row[key]
                        for key in ("scope_id", "id", "tags", "metadata", "source", "conversation")
                    },
                    **{key: row[key] for key in ("content", "speaker", "digest", "row_costs", "json_costs")},
                    "costs": [cost + 1 for cost in row["costs"]],
                    **(changes if name == "rewrite" else {}),
                }
                for row in filing._conn.execute(
                    f"{query} WHERE scope_id = %s AND id = ANY (%s)".encode(), [found["scope_id"], ids]
                )
            ]
            filing.run(name, of="upkeep", entries=json.dumps(rows))

    @property
    def tenant(self) -> int:
        return self.scopes[0].tenant


def check(library: Library, tenant: int) -> None:
    """Everything beside the entries is what the entries say."""
    words = library.rows(
        "SELECT scope_id, term, seq, tf, length FROM postings WHERE tenant_id = %s ORDER BY 1, 2, 3", tenant
    )
    recount = library.rows(
        """SELECT e.scope_id, t.term COLLATE "C", e.seq, t.tf, t.length
           FROM entries e, postings_of(e.content, e.speaker) t
           WHERE e.tenant_id = %s AND NOT e.superseded ORDER BY 1, 2, 3""",
        tenant,
    )
    assert words == recount
    counters = library.rows(
        "SELECT documents, terms FROM scopes WHERE tenant_id = %s ORDER BY scope_id", tenant
    )
    assert counters == library.rows(
        """SELECT count(DISTINCT p.seq), coalesce(sum(p.tf) FILTER (WHERE NOT starts_with(p.term, '@')), 0)
           FROM scopes s LEFT JOIN postings p USING (tenant_id, scope_id)
           WHERE s.tenant_id = %s GROUP BY s.scope_id ORDER BY s.scope_id""",
        tenant,
    )
    embedded = library.rows(
        """SELECT scope_id, id FROM unembedded WHERE tenant_id = %s
           UNION ALL SELECT scope_id, id FROM vectors WHERE tenant_id = %s ORDER BY 1, 2""",
        tenant,
        tenant,
    )
    live = "SELECT scope_id, id FROM entries WHERE tenant_id = %s AND NOT superseded ORDER BY 1, 2"
    assert embedded == library.rows(live, tenant)
    assert (
        library.rows(
            """SELECT v.id FROM vectors v JOIN entries e USING (tenant_id, scope_id, id)
           WHERE v.tenant_id = %s AND v.costs <> e.costs""",
            tenant,
        )
        == []
    )
    assert (
        library.rows(
            """SELECT seq FROM (
                   SELECT seq, turn, lag(turn, 1, 0) OVER talk AS before FROM entries WHERE tenant_id = %s
                   WINDOW talk AS (PARTITION BY scope_id, conversation ORDER BY seq)) e
               WHERE turn IS NULL OR turn <= before""",
            tenant,
        )
        == []
    )


@settings(max_examples=12 * EFFORT, deadline=None)
@example(
    first={"do": "write", "which": [NOTE]},
    steps=[change("embed"), change("recount"), change("rewrite"), change("embed"), change("expire")],
)
@example(
    first={"do": "write", "which": [NOTE, NOTE]},
    steps=[change("embed"), {"do": "write", "which": [NOTE | {"supersedes": ("e1", "e3")}, NOTE]}],
)
@given(first=WRITES, steps=st.lists(st.one_of(WRITES, CHANGES), max_size=6))
def test_what_stands_beside_entries_is_a_recount_of_them(
    library: Library, rig: Rig, first: dict[str, Any], steps: list[dict[str, Any]]
) -> None:
    """After any writes, removals, rewrites and expiries words, counters, queue and turns are true."""
    tenant = rig.tenant()
    writer = Writer(library, (rig.scope(tenant), rig.scope(tenant)))
    for step in [first, *steps]:
        writer.act(step)
        check(library, tenant)


def test_a_conversations_turns_count_from_one(library: Library, rig: Rig) -> None:
    """Turns are 1, 2, 3 in the order of acceptance, of each conversation and of what has none."""
    tenant = rig.tenant()
    scopes = [rig.scope(tenant), rig.scope(tenant)]
    drafts = [
        Draft(
            memory_ref=scopes[n % 2].memory_ref,
            content="a",
            id=f"e{n}",
            conversation=CONVERSATIONS[n // 2 % 3],
        )
        for n in range(36)
    ]
    rig.accept(tenant, drafts)
    drain(tenant, rig.parts(batch=7))
    found = library.rows("SELECT id, turn FROM entries WHERE tenant_id = %s ORDER BY seq", tenant)
    assert found == [(f"e{n}", n // 6 + 1) for n in range(36)]


def test_rows_put_in_at_once_are_numbered_and_indexed(library: Library, rig: Rig) -> None:
    """One INSERT of many rows by hand, without turns, gets turns, words and queue like any other."""
    tenant = rig.tenant()
    scope = rig.scope(tenant)
    library.write(scope, Draft(memory_ref=scope.memory_ref, content="zebra", id="first", conversation="a"))
    library.owner.execute(
        """INSERT INTO entries (
               tenant_id, scope_id, seq, id, content, conversation, tags, kind, confidence, pinned, metadata,
               links, supersedes, observed_at, created_at, costs, row_costs)
           SELECT s.tenant_id, s.scope_id, nextval('accept_seq'), 'n' || n, 'zebra number ' || n,
                  (ARRAY['a', 'b'])[n %% 3], '{}', 'fact', 1, false, '{}', '[]', '{}', now(), now(),
                  '{1,1,1,1}', '{1,1,1,1}'
           FROM scopes s, generate_series(1, 600) n WHERE s.tenant_id = %s ORDER BY n""",
        [tenant],
    )
    check(library, tenant)
    found = library.rows(
        """SELECT conversation, count(*), min(turn), max(turn), count(DISTINCT turn) FROM entries
           WHERE tenant_id = %s GROUP BY conversation ORDER BY conversation""",
        tenant,
    )
    assert found == [("a", 201, 1, 201, 201), ("b", 200, 1, 200, 200), (None, 200, 1, 200, 200)]


def test_a_word_said_very_often_counts_as_often_as_it_can(library: Library, scope: Scope) -> None:
    """What is said more often than a posting can count is counted alike in posting, length and counters."""
    library.write(scope, "哈" * 40_000, embedded=False)
    check(library, scope.tenant)
    assert library.rows("SELECT terms FROM scopes WHERE tenant_id = %s", scope.tenant) == [(32_768,)]
    library.owner.execute("UPDATE entries SET content = 'quiet' WHERE tenant_id = %s", [scope.tenant])
    check(library, scope.tenant)
