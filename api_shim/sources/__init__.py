"""Where entries come from: the hot view, else the ledger."""
