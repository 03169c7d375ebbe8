"""Redaction: nothing secret goes past here."""

from worker.steps.redaction.redactor import Json, Redacted, Redactor
from worker.steps.redaction.span import Hit

__all__ = ["Hit", "Json", "Redacted", "Redactor"]
