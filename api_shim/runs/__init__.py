"""Runs: small programs over the real memory, and what is told of them (OpenWOP; agent-memory fixtures).

    start -> row under a lease -> program over the memory port -> outcome in the row, events in the ledger

A program checks what it sees and fails under a name; a run whose shim died is failed once its lease is over.
"""
