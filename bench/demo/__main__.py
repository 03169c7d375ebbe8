"""``make demo``: starts everything in a temporary folder, writes, reads, stops. 1 if anything failed."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from rich.console import Console

from bench.demo.cast import MEMORY, SECRET_ID, SECRET_TAG, Secrets, drafts
from bench.demo.screen import COUNTS, Screen
from bench.product import NotStarted, Product, running_product, temporary_folder
from foreword.client import Client
from foreword.client.answers import Page
from foreword.client.arguments import DraftBody
from foreword.counters import counter
from foreword.errors import ForewordError
from foreword.ledger import api_keys, tenants

BUDGET = 1024
QUESTION = "When does the office open?"
ROOM = 150
READS = 1000

_BATCH = 40
_FILED_LIMIT_S = 60.0
_EMBEDDED_LIMIT_S = 60.0

WELCOME = """\
[bold]Foreword[/] keeps what an agent should remember and answers "what fits in N tokens?" without ever
going over. This demo runs the whole product on this machine: it needs no account, no network and
no Docker, touches nothing outside a temporary folder, and takes about half a minute."""

FAREWELL = """\
Where to go next
  make up                 start Foreword for yourself; it prints an address and a key
  README.md               what it is for, and how to call it from Python, HTTP or the command line
  docs/api.md             every call, with examples
  make bench              the measurements behind the claims"""


class DemoFailed(Exception):
    """Something the product promises did not hold."""


def main() -> int:
    """The exit code."""
    console = Console(width=None if sys.stdout.isatty() else 110)
    started = time.monotonic()
    console.print(WELCOME, highlight=False)
    try:
        with temporary_folder() as folder:
            _show(Screen(console), folder)
        if folder.exists():
            raise DemoFailed(f"{folder} is still there.")
    except (DemoFailed, ForewordError, NotStarted, OSError) as error:
        console.print(f"\n[bold red]The demo failed.[/] {error}", highlight=False)
        return 1
    except KeyboardInterrupt:
        console.print("\nStopped on request; nothing is left behind.")
        return 130
    taken = time.monotonic() - started
    console.print(f"\n[green]✓[/] All stopped, the temporary folder is gone; {taken:.0f} s in all.\n")
    console.print(FAREWELL, highlight=False)
    return 0


def _show(screen: Screen, folder: Path) -> None:
    screen.step(
        1,
        "Starting",
        "A Redis-compatible server (Valkey), PostgreSQL, a worker, its clock and the HTTP server.",
    )
    started = time.monotonic()
    with ExitStack() as running:
        with screen.console.status("starting ..."):
            product = running.enter_context(running_product(folder))
        screen.say(f"ready after {time.monotonic() - started:.1f} s at {product.url}")
        client = running.enter_context(Client(product.url, product.api_key))
        planted = Secrets()
        position = _write(screen, client, planted)
        _budgets(screen, client, position)
        _redacted(screen, client, planted)
        _stranger(screen, product)
        _recalled(screen, client)
        _latency(screen, product)
        screen.console.print("\nStopping ...", style="dim")


def _write(screen: Screen, client: Client, planted: Secrets) -> str:
    """Registers a secret, writes everything, waits until it can be read; the last write's position."""
    told = drafts(planted)
    screen.step(
        2,
        "Writing",
        f"{len(told)} real memories: notes of a team, beliefs about an engineer, a sentence in 63 languages, "
        "code.\nTwo hold a made-up secret: a password that we register first, and a token nobody registers.",
    )
    client.set_secret(SECRET_ID, planted.password)
    position, accepted = "", 0
    with screen.progress() as bars:
        sent = bars.add_task("accepted, safe on disk", total=len(told))
        filed = bars.add_task("redacted and counted", total=len(told))
        for batch in _batches(told):
            position = client.remember_many(MEMORY, batch)[-1].position or ""
            accepted += len(batch)
            bars.update(sent, completed=accepted)
            bars.update(filed, completed=accepted - client.stats(MEMORY).pending)
        deadline = time.monotonic() + _FILED_LIMIT_S
        while pending := client.stats(MEMORY).pending:
            if time.monotonic() > deadline:
                raise DemoFailed(f"{pending} memories were still not filed after {_FILED_LIMIT_S:.0f} s.")
            bars.update(filed, completed=accepted - pending)
            time.sleep(0.02)
        bars.update(filed, completed=accepted)
    stats = client.stats(MEMORY)
    if stats.failed:
        raise DemoFailed(f"{stats.failed} memories could not be filed.")
    screen.say(
        f"{stats.entries} memories can be read ({accepted - stats.entries} were replaced by newer ones): "
        f"{stats.costs['o200k_base']:,} tokens, already counted"
    )
    return position


def _batches(told: list[DraftBody]) -> Iterator[list[DraftBody]]:
    for start in range(0, len(told), _BATCH):
        yield told[start : start + _BATCH]


def _budgets(screen: Screen, client: Client, position: str) -> None:
    """The newest within the budget, in every counter; each answer is counted again, here, from its text."""
    screen.step(
        3,
        f"The newest that fit in {BUDGET:,}",
        "Whole memories only, newest first; the answer says what was left out and why. One memory is a\n"
        "whole pasted file. A number means something else in every unit, so the question names the unit.",
    )
    pages = [
        client.list(MEMORY, token_budget=BUDGET, token_counter=name, fields="all", after=position)
        for name in COUNTS
    ]
    for name, page in zip(COUNTS, pages, strict=True):
        _recount(name, page)
    screen.budgets(pages)
    screen.say("each answer's text was counted again here: exact in its unit, and never over the budget")
    screen.console.print("\n  The newest of them, with what each costs in o200k_base:\n", style="dim")
    screen.entries(pages[0].entries[:10], "o200k_base")


def _recount(name: str, page: Page) -> None:
    report = page.budget
    used = sum(counter(name).count_batch([entry.content for entry in page.entries]))
    if report is None or not page.entries:
        raise DemoFailed(f"The read in {name} returned nothing.")
    if used != report.used or used > BUDGET:
        raise DemoFailed(f"The read in {name} says {report.used} and holds {used} of {BUDGET}.")


def _redacted(screen: Screen, client: Client, planted: Secrets) -> None:
    screen.step(
        4,
        "The two secrets",
        "Hidden before anything was counted, stored or shown. The words around them stay.",
    )
    found = client.list(MEMORY, tag=SECRET_TAG)
    screen.whole(found.entries)
    everything = "\n".join(str(line) for line in client.export(MEMORY))
    for value in (planted.password, planted.token):
        if value in everything:
            raise DemoFailed("A secret can be read.")
    marked = [entry.content for entry in found.entries if "[REDACTED:" in entry.content]
    if len(marked) != 2 or f"[REDACTED:{SECRET_ID}]" not in "".join(marked):
        raise DemoFailed("The rows with the secrets are not marked as redacted.")
    screen.say("neither value is in anything this memory returns, its full export included")


def _stranger(screen: Screen, product: Product) -> None:
    screen.step(
        5,
        "Somebody else asks the same",
        "Another customer of the same server, with a valid key of its own and the right name of the memory.",
    )
    tenants.ensure_tenant(product.owner_url, "somebody-else")
    key = api_keys.create_key(product.owner_url, "somebody-else", ["read"])
    with Client(product.url, key) as stranger:
        page = stranger.list(MEMORY, token_budget=BUDGET)
    if page.entries or page.budget is None or page.budget.omitted.budget:
        raise DemoFailed("Another tenant's key reads this memory.")
    screen.say("no entries, nothing left out: for them this memory does not exist")


def _recalled(screen: Screen, client: Client) -> None:
    """A block that is ready for a prompt, once there are vectors; it is counted again here, frame and all."""
    screen.step(
        6,
        "What bears on a question",
        f"{QUESTION!r}, answered with a block for a prompt, found by meaning and by words;\n"
        f"of two that speak of the same the newer goes first. At most {ROOM} tokens with its frame.\n"
        "The model that knows what is near in meaning runs here, offline.",
    )
    deadline = time.monotonic() + _EMBEDDED_LIMIT_S
    while not client.search(MEMORY, QUESTION, mode="semantic", top_k=1).entries:
        if time.monotonic() > deadline:
            raise DemoFailed(f"Nothing could be found by meaning after {_EMBEDDED_LIMIT_S:.0f} s.")
        time.sleep(0.1)
    block = client.recall(MEMORY, QUESTION, token_budget=ROOM)
    used = counter("o200k_base").count(block.text)
    if not block.entries or used != block.budget.used or used > ROOM:
        raise DemoFailed(f"The block says {block.budget.used} tokens and holds {used} of {ROOM}.")
    screen.quote(block.text)
    screen.say(f"{used} tokens, counted again here: exactly what the answer says")


def _latency(screen: Screen, product: Product) -> None:
    screen.step(
        7,
        f"{READS:,} reads",
        f"The newest within {BUDGET:,} tokens, over HTTP, one after the other on one connection.",
    )
    with screen.progress() as bars:
        seconds = list(bars.track(_reads(product), total=READS, description="reading"))
    screen.latencies(seconds)


def _reads(product: Product) -> Iterator[float]:
    """Seconds each read takes, after a few that warm up."""
    connection = HTTPConnection(urlsplit(product.url).netloc, timeout=30)
    path = "/v1/memory/entries?" + urlencode({"memoryRef": MEMORY, "tokenBudget": BUDGET})
    headers = {"Authorization": f"Bearer {product.api_key}"}
    try:
        for number in range(READS + 20):
            started = time.perf_counter()
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise DemoFailed(f"A read was answered with {answer.status}.")
            if number >= 20:
                yield time.perf_counter() - started
    finally:
        connection.close()


if __name__ == "__main__":
    raise SystemExit(main())
