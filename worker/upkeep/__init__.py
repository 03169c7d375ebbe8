"""What runs later, on its own schedule: sweep, expire, rebuild, recount, re-redact."""
