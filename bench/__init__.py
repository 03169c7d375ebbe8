"""The measured claims, each one command, and the demo. Nothing here is installed."""
