"""Foreword: agent memory that can never overrun a context window.

A client install carries the laws and the client alone; names load when they are first used, so that
importing ``foreword`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foreword.budget import select
    from foreword.client import AsyncClient, Client
    from foreword.handoff import enqueue
    from foreword.injection import InjectionBudget

__version__ = "0.1.0"
__all__ = ["AsyncClient", "Client", "InjectionBudget", "__version__", "enqueue", "select"]

_HOMES = {
    "AsyncClient": "foreword.client",
    "Client": "foreword.client",
    "InjectionBudget": "foreword.injection",
    "enqueue": "foreword.handoff",
    "select": "foreword.budget",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
