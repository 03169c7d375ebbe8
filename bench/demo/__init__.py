"""The demo: the whole product in a temporary folder, on real memories, for a person to watch."""
