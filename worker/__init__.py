"""One write, left to right: intake -> steps -> stores; ``write.py`` tells the flow."""
