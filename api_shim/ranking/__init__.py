"""Hybrid ranking: what answers a question best, from numbers the ledger already has.

Pure functions over candidates. ``rank.py`` first: it fuses five signals (``fuse.py``), lets the newer of two
facts go first (``succession.py``) and sets repeats aside (``duplicates.py``). Nothing is learned, and the
weights are in one place.
"""
