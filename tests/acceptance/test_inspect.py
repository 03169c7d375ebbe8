"""The page for people: open where the setting allows, and nothing that is stored can act in it."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from api_shim.doors.inspect import PAGE, POLICY
from api_shim.doors.routes import ROUTES
from tests.acceptance.browser import CHROMIUM, Browser, browsing
from tests.acceptance.tenants import Tenant, assert_error, filed, filed_all, page

PATHS = [file.path for file in PAGE]
HOSTILE = (
    "<script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title = 'owned'\">",
    "</li></ol><iframe srcdoc=\"<script>parent.document.title = 'owned'</script>\"></iframe>",
    "<a href=\"javascript:document.title = 'owned'\">here</a><style>* { display: none }</style>",
)


# --- the files ---


@pytest.mark.parametrize("path", PATHS)
def test_the_files_are_open_and_locked_up(product: dict[str, Any], path: str) -> None:
    """Each file is there without a key, under a policy that lets nothing in or out but this origin."""
    answer = httpx.get(product["url"] + path)
    assert answer.status_code == 200
    assert answer.headers["Content-Security-Policy"] == POLICY
    for law in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"):
        assert law in POLICY.split("; ")
    assert "unsafe" not in POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Type"] == {
        "html": "text/html; charset=utf-8",
        "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8",
    }.get(path.rpartition(".")[2], "text/html; charset=utf-8")


def test_the_page_stands_alone(product: dict[str, Any]) -> None:
    """The page holds no script or style of its own, no handler, and names no other server."""
    texts = [httpx.get(product["url"] + path).text for path in PATHS]
    assert re.search(r"<style|\sstyle=|\son\w+=|<script(?! src=)", texts[0]) is None
    for text in texts:
        assert re.search(r"(?:https?:)?//[\w-]+\.|@import|url\(", text) is None
    assert re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", texts[2]) is None
    assert re.search(r"<input id=\"key\"[^>]*\bname=", texts[0]) is None


@pytest.mark.parametrize("path", PATHS)
def test_without_the_setting_there_is_no_page(shim: Callable[..., str], path: str) -> None:
    """Off, which is the default, each path answers as one that does not exist."""
    url = shim(FOREWORD_INSPECT="false")
    answer = httpx.get(url + path)
    assert_error(answer, 404, "not_found")
    assert answer.content == httpx.get(f"{url}/there/is/none").content


def test_the_page_is_not_in_the_contract(product: dict[str, Any]) -> None:
    """The OpenAPI document is for programs: it has no path of the page."""
    told = httpx.get(f"{product['url']}/v1/openapi.json").json()["paths"]
    assert not set(PATHS) & {*told, *(route.path for route in ROUTES)}


# --- in a browser ---


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A real browser, where there is one."""
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    with browsing(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def visitor(browser: Browser, product: dict[str, Any]) -> Iterator[Browser]:
    """The browser on a fresh page; afterwards nothing broke the policy and no script failed."""
    browser.visit(f"{product['url']}/inspect")
    browser.run("sessionStorage.clear()")
    browser.events.clear()
    browser.visit(f"{product['url']}/inspect?")
    yield browser
    told = [entry["entry"]["text"] for entry in browser.told("Log.entryAdded")]
    assert [text for text in told if "Content Security Policy" in text] == []
    assert browser.told("Runtime.exceptionThrown") == []
    assert browser.run("document.title") == "Foreword · inspect"


def enter(visitor: Browser, key: str, ref: str) -> None:
    """Fills the form and opens the memory."""
    visitor.fill("key", key)
    visitor.fill("ref", ref)
    visitor.click("#door button")
    visitor.until("!document.getElementById('memory').hidden && document.getElementById('used').innerText")


def adjust(visitor: Browser, **options: str) -> None:
    """Sets options of the list and waits until the answer to all of them is shown."""
    visitor.run("document.getElementById('used').replaceChildren()")
    for field, value in options.items():
        visitor.fill(field, value)
    visitor.until("document.getElementById('used').innerText")
    visitor.until("!document.querySelector('.busy')")


def shown(visitor: Browser) -> list[str]:
    """Contents on the page, as they were written."""
    found = visitor.run("[...document.querySelectorAll('#entries .content')].map((it) => it.textContent)")
    return list(found)


def test_hostile_text_stays_text(visitor: Browser, tenant: Tenant) -> None:
    """Markup in contents, tags, speakers, sources and metadata is read as it was written and does nothing."""
    with tenant.door() as door:
        for text in HOSTILE:
            fields = {"tags": [text], "speaker": text, "source": text, "metadata": {text: text}}
            filed(door, "<b>ref</b>", text, **fields)
    enter(visitor, tenant.key("read"), "<b>ref</b>")
    assert shown(visitor) == list(reversed(HOSTILE))
    assert (
        visitor.run(
            "document.querySelectorAll('iframe, img, b, script:not([src]), main a, main style').length"
        )
        == 0
    )
    assert visitor.run("[...document.querySelectorAll('.tag')].map((it) => it.textContent)") == [
        *reversed(HOSTILE)
    ]
    visitor.click("#entries details summary")
    assert (
        HOSTILE[-1]
        in json.loads(visitor.run("document.querySelector('#entries pre').textContent"))["metadata"]
    )


def test_numbers_are_the_servers(visitor: Browser, tenant: Tenant) -> None:
    """Costs, use and what was left out are what the API answers to the same question."""
    texts = [
        "short",
        "a text of some more words",
        "word " * 200,
        "three small words",
        "the newest of them all",
    ]
    with tenant.door() as door:
        filed_all(door, "a", *texts)
        stats = door.get("/v1/memory/stats", params={"memoryRef": "a"}).json()
        enter(visitor, tenant.key("read"), "a")
        costs = visitor.run("[...document.querySelectorAll('#costs dd')].map((it) => it.textContent)")
        assert costs == [f"{cost:,}" for cost in stats["costs"].values()]
        for counter, fit in (("chars", "prefix"), ("o200k_base", "pack"), ("host-defined", "strict")):
            asked = {"tokenBudget": 45, "tokenCounter": counter, "fit": fit}
            answer = page(door, "a", fields="all", **asked)
            adjust(visitor, budget="45", counter=counter, fit=fit)
            report = answer["budget"]
            assert visitor.text("#used") == f"{report['used']} of 45 {counter} used"
            assert shown(visitor) == [entry["content"] for entry in answer["entries"]]
            told = visitor.run("[...document.querySelectorAll('#entries data')].map((it) => it.value)")
            assert told == [str(entry["costs"][counter]) for entry in answer["entries"]]
            left = {kind: n for kind, n in report["omitted"].items() if n}
            legend = visitor.text("#legend")
            assert f"{report['returned']} returned" in legend
            assert {kind: n for n, kind in re.findall(r"(\d+) (\w+): ", legend)} == {
                kind: str(n) for kind, n in left.items()
            }


def test_the_slider_asks_for_its_budget(visitor: Browser, tenant: Tenant) -> None:
    """At its right end the budget is what everything costs, and everything fits."""
    with tenant.door() as door:
        filed_all(door, "a", *(f"entry {n} of a few" for n in range(9)))
        whole = door.get("/v1/memory/stats", params={"memoryRef": "a"}).json()["costs"]["o200k_base"]
    enter(visitor, tenant.key("read"), "a")
    adjust(visitor, slider="1000")
    assert visitor.text("#used") == f"{whole} of {whole} o200k_base used"
    assert len(shown(visitor)) == 9
    adjust(visitor, slider="0")
    assert visitor.text("#used") == "0 of 1 o200k_base used"


def test_pages_follow_each_other(visitor: Browser, tenant: Tenant) -> None:
    """The next page goes on where this one ended, and the previous one is there again."""
    with tenant.door() as door:
        filed_all(door, "a", *(f"entry {n}" for n in range(5)))
    enter(visitor, tenant.key("read"), "a")
    adjust(visitor, limit="2")
    seen = [shown(visitor)]
    for button, number in (("next", 2), ("next", 3), ("previous", 2)):
        visitor.click(f"#{button}")
        visitor.until(f"document.getElementById('page').innerText === 'Page {number}'")
        seen.append(shown(visitor))
    assert seen == [["entry 4", "entry 3"], ["entry 2", "entry 1"], ["entry 0"], ["entry 2", "entry 1"]]


def test_a_removal_asks_first(visitor: Browser, tenant: Tenant) -> None:
    """Nothing is removed until it is confirmed; then the entry is gone from the page and from the memory."""
    with tenant.door() as door:
        kept, doomed = filed_all(door, "a", "to stay", "to go")
        enter(visitor, tenant.key("read", "write"), "a")
        visitor.click(f"[aria-label='Remove entry {doomed['id']}']")
        assert visitor.run("document.getElementById('confirm').open")
        assert visitor.text("#confirm-content") == "to go"
        visitor.click("#keep")
        assert len(page(door, "a")["entries"]) == 2
        visitor.click(f"[aria-label='Remove entry {doomed['id']}']")
        visitor.click("#remove")
        visitor.until("document.querySelectorAll('#entries > li').length === 1")
        assert [entry["id"] for entry in page(door, "a")["entries"]] == [kept["id"]]
        visitor.until("document.getElementById('events').innerText.includes('memory.written')")


def test_a_key_that_may_only_read_is_told_so(visitor: Browser, tenant: Tenant) -> None:
    """A refused removal says why, where it was asked for, and the entry stays."""
    with tenant.door() as door:
        one = filed(door, "a", "to stay")
        enter(visitor, tenant.key("read"), "a")
        visitor.click(f"[aria-label='Remove entry {one['id']}']")
        visitor.click("#remove")
        visitor.until("!document.getElementById('confirm-problem').hidden")
        visitor.click("#keep")
        assert len(page(door, "a")["entries"]) == 1


def test_the_key_is_in_no_url(visitor: Browser, tenant: Tenant) -> None:
    """The key is sent in a header to this server alone, outlives a reload, and is gone once forgotten."""
    key = tenant.key("read")
    enter(visitor, key, "a")
    visitor.call("Page.reload")
    visitor.until("document.readyState === 'complete' && !document.getElementById('memory').hidden")
    visitor.until("document.getElementById('used').innerText")
    sent = [event["request"] for event in visitor.told("Network.requestWillBeSent")]
    assert any(key in request["headers"].get("Authorization", "") for request in sent)
    assert not any(key in request["url"] or key in request.get("postData", "") for request in sent)
    assert all(request["url"].startswith(tenant.url) for request in sent)
    visitor.click("#leave")
    assert visitor.run("sessionStorage.length + localStorage.length + document.cookie.length") == 0
    assert (
        visitor.run("document.getElementById('memory').hidden && document.getElementById('key').value") == ""
    )


def test_a_wrong_key_opens_nothing(visitor: Browser) -> None:
    """An unknown key and what cannot be a key get an answer in words; no memory is shown."""
    for key in ("fw_1_aaaaaaaa_" + "x" * 43, "schlüssel"):
        visitor.fill("key", key)
        visitor.fill("ref", "a")
        visitor.run("document.getElementById('problem').hidden = true")
        visitor.click("#door button")
        visitor.until(
            "!document.getElementById('problem').hidden && document.getElementById('problem').innerText"
        )
        assert visitor.run("document.getElementById('memory').hidden")
        assert visitor.run("sessionStorage.length") == 0


def test_an_empty_memory_says_so(visitor: Browser, tenant: Tenant) -> None:
    """A memory nobody wrote to opens, with zeros."""
    enter(visitor, tenant.key("read"), "nobody")
    assert "nothing in this memory" in visitor.text("#nothing")
    figures = visitor.run("[...document.querySelectorAll('#figures dd')].map((it) => it.textContent)")
    assert figures == ["0", "0", "0", "cold"]


def test_the_page_is_for_everybody(visitor: Browser, tenant: Tenant) -> None:
    """Every control has a name for who cannot see it, and a phone needs no sideways scroll."""
    with tenant.door() as door:
        filed(door, "a", "x" * 3000, tags=["y" * 200])
    visitor.call(
        "Emulation.setDeviceMetricsOverride", width=360, height=700, deviceScaleFactor=1, mobile=True
    )
    enter(visitor, tenant.key("read"), "a")
    adjust(visitor, budget="")
    tree = visitor.call("Accessibility.getFullAXTree")["nodes"]
    roles = {"textbox", "button", "slider", "spinbutton", "combobox"}
    controls = [node for node in tree if node.get("role", {}).get("value") in roles and not node["ignored"]]
    assert len(controls) >= 10
    assert [node for node in controls if not node.get("name", {}).get("value")] == []
    assert shown(visitor) == ["x" * 3000]
    assert visitor.run("document.documentElement.scrollWidth <= 360")
    visitor.call("Emulation.clearDeviceMetricsOverride")
