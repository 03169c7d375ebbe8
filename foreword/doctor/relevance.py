"""Relevance: the embedder works, its model is the one that serves, and no entry waits long for a vector."""

from collections.abc import Iterator

from foreword.doctor.finding import Check, Finding, Place
from foreword.embedders import make_embedder
from foreword.embedding import Embedder
from foreword.errors import ConfigurationError, EmbedderUnavailable
from foreword.resources import queries

LONGEST_WAIT_S = 600.0
_TIMEOUT_S = 5


def embedder(place: Place) -> Iterator[Finding]:
    """The embedder makes a vector: its model is there, has the right sha256, or its server answers."""
    try:
        found = _configured(place)
        if found is not None:
            found.embed(["one two three"])
    except (ConfigurationError, EmbedderUnavailable) as error:
        yield Finding(
            check="embedder",
            state="problem",
            message=error.message,
            mend="pip install 'foreword[embed]', or set FOREWORD_EMBEDDER (see ops/env.example)",
        )
        return
    if found is None:
        yield Finding(check="embedder", state="ok", message="none is wanted: nothing is found by meaning")
    else:
        yield Finding(check="embedder", state="ok", message=f"{found.spec.model} makes vectors")


def vectors(place: Place) -> Iterator[Finding]:
    """The model that serves is the configured one, and what is filed has its vectors."""
    if place.database_url is None or _name(place) == "none":
        return
    import psycopg  # noqa: PLC0415

    ask = queries("foreword.doctor", "relevance.sql")["models"]
    try:
        wanted = _configured(place)
        with psycopg.connect(place.database_url, connect_timeout=_TIMEOUT_S) as conn:
            conn.execute(f"SET statement_timeout = '{_TIMEOUT_S}s'")
            models = conn.execute(ask.encode()).fetchall()
    except (ConfigurationError, EmbedderUnavailable, psycopg.Error):
        return
    yield _serving([(name, state) for name, _, state, *_ in models], wanted)
    for name, _, state, waiting, failed, oldest_s in models:
        yield _waiting(name, waiting, oldest_s if state == "serving" else 0)
        if failed:
            yield Finding(
                check="vectors",
                state="warning",
                message=f"{failed:,} entries got no vector of {name} in five attempts; words find them.",
                mend="see the log of the embedding worker, then: foreword reembed --failed",
            )


def _serving(models: list[tuple[str, str]], wanted: Embedder | None) -> Finding:
    serving = next((name for name, state in models if state == "serving"), None)
    if serving is None:
        return Finding(
            check="model",
            state="warning",
            message="No model serves yet: nothing is found by meaning.",
            mend="foreword embed",
        )
    if wanted is not None and wanted.spec.model != serving:
        return Finding(
            check="model",
            state="warning",
            message=f"{serving} serves, and {wanted.spec.model} is configured here.",
            mend="set FOREWORD_EMBEDDER as the servers have it, or change over: foreword reembed",
        )
    return Finding(check="model", state="ok", message=f"{serving} serves")


def _waiting(model: str, waiting: int, oldest_s: float) -> Finding:
    if oldest_s > LONGEST_WAIT_S:
        return Finding(
            check="vectors",
            state="warning",
            message=f"{waiting:,} entries wait for a vector of {model}, the oldest for {oldest_s:,.0f} s; "
            "words find them meanwhile.",
            mend="foreword embed",
        )
    return Finding(check="vectors", state="ok", message=f"{waiting:,} entries wait for a vector of {model}")


def _name(place: Place) -> str:
    return place.environment.get("FOREWORD_EMBEDDER") or "minilm"


def _configured(place: Place) -> Embedder | None:
    told = place.environment
    dimension = told.get("FOREWORD_EMBEDDER_DIMENSION") or "0"
    return make_embedder(
        _name(place),
        url=told.get("FOREWORD_EMBEDDER_URL", ""),
        api_key=told.get("FOREWORD_EMBEDDER_API_KEY", ""),
        model=told.get("FOREWORD_EMBEDDER_MODEL", ""),
        dimension=int(dimension) if dimension.isascii() and dimension.isdigit() else 0,
        timeout=_TIMEOUT_S,
    )


CHECKS: tuple[Check, ...] = (embedder, vectors)
