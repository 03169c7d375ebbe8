"""``foreword ...``: the command line, for people and for scripts."""

import sys


def main() -> None:
    """Runs one command and exits with its code."""
    try:
        from foreword.cli.root import root
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.exit(f"foreword: the command line needs {error.name}: pip install 'foreword[cli]'")
    root(prog_name="foreword")
