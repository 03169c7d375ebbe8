"""Where an entry is kept: the ledger, which is the truth, and the hot view, which is ready to be read."""
