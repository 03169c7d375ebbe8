"""Where a request leaves a trace: the inbox, removals, registered secrets. All in the ledger."""
