"""A Draft is made safe and countable: open, redact, count. No storage here."""
