"""The client: one set of calls without colour, and two thin shells that send them.

``calls`` says what to ask, ``answers`` what comes back, ``replies`` how it is read, ``exchange`` when to ask
again and ``connection`` whom. ``Client`` and ``AsyncClient`` only send and wait; httpx is all they need.
"""

from foreword.client.aio import AsyncClient
from foreword.client.answers import (
    Acceptance,
    Entry,
    Event,
    Events,
    Job,
    Omitted,
    Page,
    Receipt,
    Recollection,
    Removal,
    Report,
    Stats,
)
from foreword.client.sync import Client

__all__ = [
    "Acceptance",
    "AsyncClient",
    "Client",
    "Entry",
    "Event",
    "Events",
    "Job",
    "Omitted",
    "Page",
    "Receipt",
    "Recollection",
    "Removal",
    "Report",
    "Stats",
]
