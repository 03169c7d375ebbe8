"""``python -m worker run | embed | beat | recount | reembed | retry``."""

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path

from rich.progress import Progress

from foreword.errors import ForewordError
from foreword.wake import EMBED_QUEUE, QUEUE

_NICENESS = 10
_AUTOGROUP = Path("/proc/self/autogroup")


def main(argv: list[str] | None = None) -> int:
    """Runs one verb; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m worker", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("run", help="file Drafts until stopped")
    verbs.add_parser("embed", help="make vectors until stopped")
    reembed = verbs.add_parser(
        "reembed", help="make every vector anew with the configured model, then let it serve"
    )
    reembed.add_argument(
        "--failed", action="store_true", help="only try again what got no vector in five attempts"
    )
    verbs.add_parser("beat", help="send the scheduled wake-ups until stopped")
    verbs.add_parser("retry", help="give failed Drafts another try")
    recount = verbs.add_parser("recount", help="bring stored costs up to the counters of this version")
    recount.add_argument("--all", action="store_true", help="recount complete entries too")
    recount.add_argument(
        "--owner-url",
        default=os.environ.get("FOREWORD_OWNER_URL"),
        required="FOREWORD_OWNER_URL" not in os.environ,
        help="database URL of the ledger's owner; FOREWORD_OWNER_URL keeps it out of the process list",
    )
    options = parser.parse_args(argv)
    try:
        return _VERBS[options.verb](options)
    except ForewordError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1


def _run(_: argparse.Namespace) -> int:
    return _work(QUEUE)


def _embed(_: argparse.Namespace) -> int:
    _give_way()
    return _work(EMBED_QUEUE)


def _give_way() -> None:
    """Lets whatever else wants the processor have it first: vectors may be late, receipts and reads may not.

    Where Linux shares the processor among sessions (autogroup, see sched(7)), a process's own niceness weighs
    only inside its session; so one that is alone in its session lowers that too.
    """
    os.nice(_NICENESS)
    if os.getsid(0) == os.getpid():
        with suppress(OSError):
            _AUTOGROUP.write_text(str(_NICENESS), encoding="ascii")


def _work(queue: str) -> int:
    from worker.celery import app

    alone = ["--pool=solo", "--without-mingle", "--without-gossip", "--without-heartbeat"]
    app.start(["--quiet", "worker", *alone, "-l", "WARNING", "-Q", queue])
    return 0


def _reembed(options: argparse.Namespace) -> int:
    from worker.celery import embed_parts
    from worker.upkeep.reembed import embed_waiting, once_more, reembed, set_aside, total

    parts = embed_parts()
    if parts is None:
        sys.stderr.write("FOREWORD_EMBEDDER is none: there is nothing to embed with.\n")
        return 2
    tried = once_more(parts) if options.failed else 0
    with Progress() as bar:
        task = bar.add_task("embedding", total=total(parts) or None)
        for done in embed_waiting(parts) if options.failed else reembed(parts):
            bar.advance(task, done)
    if not options.failed:
        return 0
    failed = set_aside(parts)
    sys.stdout.write(f"{tried} tried, {failed} failed again\n")
    return 1 if failed else 0


def _beat(_: argparse.Namespace) -> int:
    from worker.celery import app

    # in memory: these schedules are seconds long, so there is nothing worth remembering over a restart
    app.start(["--quiet", "beat", "--pidfile=", "--scheduler=celery.beat.Scheduler", "-l", "WARNING"])
    return 0


def _retry(_: argparse.Namespace) -> int:
    from worker.celery import parts
    from worker.upkeep.retry import retry

    tried, failed = retry(parts())
    sys.stdout.write(f"{tried} tried, {failed} failed again\n")
    return 1 if failed else 0


def _recount(options: argparse.Namespace) -> int:
    from worker.celery import parts
    from worker.upkeep import recount

    for name in recount.announce(options.owner_url):
        sys.stdout.write(f"new counter: {name}\n")
    with Progress() as bar:
        task = bar.add_task("recounting", total=recount.outstanding(parts()) or None)
        for done in recount.recount(parts(), everything=options.all):
            bar.advance(task, done)
    if left := recount.outstanding(parts()):
        sys.stderr.write(
            f"{left} entries came from a worker that does not know every counter; run it again\n"
        )
        return 1
    recount.complete(options.owner_url)
    return 0


_VERBS = {
    "run": _run,
    "embed": _embed,
    "beat": _beat,
    "reembed": _reembed,
    "retry": _retry,
    "recount": _recount,
}

if __name__ == "__main__":
    raise SystemExit(main())
