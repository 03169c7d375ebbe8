"""``python -m foreword.cli``."""

from foreword.cli import main

main()
