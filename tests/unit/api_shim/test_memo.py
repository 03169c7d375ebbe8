"""The memo: an answer is given again behind the very same head, for its time, and for nobody else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api_shim.answer import Answer
from api_shim.memo import Memo
from api_shim.sources.hot import Sight
from foreword.head import FOREVER, MAX_UPCOMING, Summary
from foreword.scope import Scope

SCOPE = Scope(1, "memo")
SIGHT = Sight(b"head of version 1", "a" * 40)
ANSWER = Answer.of(b'{"entries":[]}')
SPAN = range(100, 200)


@pytest.fixture
def memo() -> Memo:
    """A memo that knows one answer."""
    made = Memo(100_000)
    made.keep(SCOPE, "question", SIGHT, SPAN, ANSWER)
    return made


@pytest.mark.parametrize("now", [100, 150, 199])
def test_the_same_head_has_the_same_answer(memo: Memo, now: int) -> None:
    """Equal bytes of the same run are the same head, wherever they came from."""
    again = Sight(bytes(bytearray(SIGHT.raw)), "a" * 40)
    assert memo.recall(SCOPE, "question", again, now) is ANSWER


@pytest.mark.parametrize("now", [0, 99, 200, 10_000])
def test_time_ends_an_answer(memo: Memo, now: int) -> None:
    """Outside its span an answer is not given, also when a clock goes back, and in it again it is."""
    assert memo.recall(SCOPE, "question", SIGHT, now) is None
    assert memo.recall(SCOPE, "question", SIGHT, 150) is ANSWER


@pytest.mark.parametrize(
    ("scope", "question", "sight"),
    [
        (Scope(2, "memo"), "question", SIGHT),
        (Scope(1, "other"), "question", SIGHT),
        (SCOPE, "another question", SIGHT),
        (SCOPE, "question", Sight(b"head of version 2", "a" * 40)),
        (SCOPE, "question", Sight(SIGHT.raw, "b" * 40)),
    ],
    ids=["tenant", "memory", "question", "head", "run"],
)
def test_nothing_else_has_it(memo: Memo, scope: Scope, question: str, sight: Sight) -> None:
    """Another tenant, memory, question, head or server run finds nothing."""
    assert memo.recall(scope, question, sight, 150) is None


def test_a_newer_head_ends_all_answers_of_its_scope(memo: Memo) -> None:
    """What was kept behind the old head is gone, and its place in memory with it."""
    memo.keep(SCOPE, "another", SIGHT, SPAN, ANSWER)
    memo.keep(SCOPE, "question", Sight(b"head of version 2", "a" * 40), SPAN, ANSWER)
    assert memo.recall(SCOPE, "question", SIGHT, 150) is None
    assert memo.recall(SCOPE, "another", SIGHT, 150) is None
    alone = Memo(100_000)
    alone.keep(SCOPE, "question", SIGHT, SPAN, ANSWER)
    assert memo.size == alone.size


def test_without_a_span_nothing_is_kept() -> None:
    """A head that cannot vouch for any instant keeps no answer."""
    memo = Memo(100_000)
    memo.keep(SCOPE, "question", SIGHT, range(0), ANSWER)
    assert memo.size == 0


def test_no_bytes_keep_nothing() -> None:
    """Zero bytes turn the memo off."""
    memo = Memo(0)
    memo.keep(SCOPE, "question", SIGHT, SPAN, ANSWER)
    assert memo.recall(SCOPE, "question", SIGHT, 150) is None
    assert memo.size == 0


def test_what_was_read_longest_ago_goes_first() -> None:
    """A full memo forgets the scope that was read longest ago."""
    memo = Memo(5_000)
    for n in range(1, 4):
        memo.keep(Scope(n, "memo"), "question", SIGHT, SPAN, ANSWER)
    assert memo.recall(Scope(1, "memo"), "question", SIGHT, 150) is ANSWER
    for n in range(4, 6):
        memo.keep(Scope(n, "memo"), "question", SIGHT, SPAN, ANSWER)
    found = [memo.recall(Scope(n, "memo"), "question", SIGHT, 150) is not None for n in range(1, 6)]
    assert found == [True, False, True, True, True]


def test_one_scope_forgets_its_oldest_answers() -> None:
    """A memory that is asked everything keeps what was computed last."""
    memo = Memo(5_000)
    for n in range(10):
        memo.keep(SCOPE, n, SIGHT, SPAN, ANSWER)
    found = [memo.recall(SCOPE, n, SIGHT, 150) is not None for n in range(10)]
    assert found == sorted(found)
    assert 1 <= sum(found) < 10


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2), st.integers(0, 3_000)), max_size=60
    )
)
def test_its_bytes_are_bounded_and_counted(kept: list[tuple[int, int, int, int]]) -> None:
    """Whatever is kept, replaced or dropped, the size is that of what is there, and within the bound."""
    memo = Memo(8_000)
    for tenant, question, version, size in kept:
        sight = Sight(b"%d" % version * 100, "a" * 40)
        answer = Answer(b"x" * size, f"{tenant} {question} {version}")
        memo.keep(Scope(tenant, "memo"), question, sight, SPAN, answer)
        assert memo.recall(Scope(tenant, "memo"), question, sight, 150) is answer
        assert memo.size <= 8_000
    there = sum(
        len(known.sight.raw) + sum(len(kept.answer.body) + 1024 for kept in known.answers.values())
        for known in memo._scopes.values()
    )
    assert memo.size == there


@given(
    expiries=st.lists(st.integers(101, 400), max_size=MAX_UPCOMING + 1).map(sorted),
    moments=st.lists(st.integers(0, 500), min_size=1, max_size=20),
)
def test_a_span_is_where_the_same_entries_live(expiries: list[int], moments: list[int]) -> None:
    """Inside a span no entry expires, its ends are tight, and before the view was made there is none."""
    summary = Summary.of(1, len(expiries), expiries, made=100)
    for now in moments:
        span = summary.steady(now)
        if not 100 <= now < summary.valid_until:
            assert not span
            continue
        assert span.start <= now < span.stop
        assert not [at for at in expiries if span.start < at < span.stop]
        assert span.start == 100 or span.start in expiries
        assert span.stop == FOREVER or span.stop in expiries
