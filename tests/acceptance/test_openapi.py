"""The served OpenAPI document: it describes every route, and the running product keeps to it."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from schemathesis import GenerationMode, checks

from api_shim.doors.routes import ROUTES
from api_shim.search import MODES
from tests.acceptance.tenants import JSON, Tenant, embedded, filed
from tests.acceptance.test_writing import WHOLE

ROUTE_NAMES = [f"{route.method} {route.path}" for route in ROUTES]
EXAMPLES, BODIES = 8, 3
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
    checks.negative_data_rejection,
]
HOLD_MORE_THAN_A_SCHEMA_CAN_SAY = {
    *("listEntries", "listMemory", "writeEntry", "writeEntries", "import", "searchMemory", "recallMemory")
}
"""Operations that take the server's tokens, filters, instants that lie ahead, or metadata without U+0000."""


@pytest.fixture(scope="module")
def inhabited(product: dict[str, Any]) -> Tenant:
    """A tenant with a memory, for requests that could do anything to it."""
    tenant = Tenant.fresh(product)
    with tenant.door() as door:
        filed(door, "a", "one", id="x", tags=["t"])
        filed(door, "0", "two", id="0")
    return tenant


@pytest.fixture(scope="module")
def document(product: dict[str, Any]) -> dict[str, Any]:
    """The document as anybody gets it."""
    answer = httpx.get(f"{product['url']}/v1/openapi.json")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    return dict(answer.json())


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and description of every operation."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, operation


def resolved(value: Any, document: dict[str, Any]) -> Any:
    """A value with its local references followed."""
    while isinstance(value, dict) and "$ref" in value:
        found: Any = document
        for part in value["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        value = found
    return value


def schemas(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every schema in the document, with the components at hand."""
    components = document["components"]
    found = [*components["schemas"].values()]
    for _, _, operation in operations(document):
        found += [parameter["schema"] for parameter in operation["parameters"]]
        holders = [operation.get("requestBody", {}), *operation["responses"].values()]
        found += [
            content["schema"]
            for holder in holders
            for content in resolved(holder, document).get("content", {}).values()
        ]
    for schema in found:
        yield {**schema, "components": components}


def test_every_route_is_described(document: dict[str, Any]) -> None:
    """The document has exactly the routes the app has, each with its own id, scope and errors."""
    told = {f"{method} {path}": operation for method, path, operation in operations(document)}
    assert sorted(told) == sorted(ROUTE_NAMES)
    assert len({operation["operationId"] for operation in told.values()}) == len(told)
    for route in ROUTES:
        operation = told[f"{route.method} {route.path}"]
        assert operation["security"] == ([] if route.open else [{"key": []}])
        assert operation.get("x-foreword-scope") == route.scope
        if not route.open:
            assert {"400", "401", "429", "503"} <= operation["responses"].keys()
        assert ("403" in operation["responses"]) == (route.scope is not None)
        assert ({"413", "415"} <= operation["responses"].keys()) == ("requestBody" in operation)
        variables = [p["name"] for p in operation["parameters"] if p["in"] == "path"]
        assert route.path.count("{") == len(variables)
        assert all(f"{{{name}}}" in route.path for name in variables)


def test_the_document_is_sound(document: dict[str, Any]) -> None:
    """Every schema is a JSON Schema, every reference leads somewhere, and every component is used."""
    assert document["openapi"].startswith("3.1")
    for schema in schemas(document):
        Draft202012Validator.check_schema(schema)
    references = set(_references(document))
    for reference in references:
        resolved({"$ref": reference}, document)
    named = {
        f"#/components/{kind}/{name}"
        for kind in ("schemas", "responses")
        for name in document["components"][kind]
    }
    assert named - references <= {
        "#/components/responses/TokenBudgetExceeded",
        "#/components/responses/MethodNotAllowed",
    }


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def test_limits_are_this_server_s(document: dict[str, Any], shim: Callable[..., str]) -> None:
    """The document tells the limits that are set, not those somebody wrote down."""
    url = shim(FOREWORD_MAX_CONTENT_BYTES="100", FOREWORD_MAX_TAGS="3", FOREWORD_MAX_BATCH="7")
    told = httpx.get(f"{url}/v1/openapi.json").json()["components"]["schemas"]
    assert told["Draft"]["properties"]["content"]["maxLength"] == 100
    assert told["Draft"]["properties"]["tags"]["maxItems"] == 3
    assert told["Batch"]["properties"]["entries"]["maxItems"] == 7
    usual = document["components"]["schemas"]
    assert usual["Draft"]["properties"]["content"]["maxLength"] == 64 * 1024
    assert usual["Batch"]["properties"]["entries"]["maxItems"] == 1000


def assert_described(document: dict[str, Any], path: str, answer: httpx.Response, status: int) -> None:
    """The answer has this status, and its body and headers are those the document tells."""
    assert answer.status_code == status, answer.text
    operation = document["paths"][path][answer.request.method.lower()]
    told = resolved(operation["responses"][str(status)], document)
    assert {name for name in told.get("headers", {}) if name not in answer.headers} == set()
    if "content" not in told:
        assert answer.content == b""
        return
    media = answer.headers["Content-Type"].partition(";")[0]
    schema = {**told["content"][media]["schema"], "components": document["components"]}
    Draft202012Validator(schema).validate(answer.json())


def test_real_answers_are_described(document: dict[str, Any], tenant: Tenant, door: httpx.Client) -> None:
    """A life of a memory, call by call: every answer is one the document tells, with all there is in it."""
    entries, asked = "/v1/memory/entries", {"memoryRef": "a"}
    host, one = "/v1/host/foreword/memory", f"{entries}/{{id}}"

    def told(method: str, path: str, status: int, template: str | None = None, **sent: Any) -> httpx.Response:
        answer = door.request(method, path, **sent)
        assert_described(document, template or path, answer, status)
        return answer

    told("POST", entries, 201, params={"wait": 30}, json=WHOLE | asked)
    told("POST", entries, 409, json=asked | {"id": WHOLE["id"], "content": "other"})
    told("POST", entries, 415, content=b"x")
    told("POST", entries, 413, content=b" " * (9 << 20), headers=JSON)
    told(
        "POST", f"{entries}:batch", 201, params={"wait": 30}, json={"entries": [asked | {"content": "x"}] * 3}
    )
    for path in (entries, host):
        for options in ({"fields": "all"}, {"tokenBudget": 1}, {"limit": 1}):
            etag = told("GET", path, 200, params=asked | options).headers["ETag"]
            told("GET", path, 304, params=asked | options, headers={"If-None-Match": etag})
        told("GET", path, 400, params=asked | {"tokenBudget": 0})
    for options in ({}, {"fields": "all"}):
        told("GET", f"{entries}/{WHOLE['id']}", 200, one, params=asked | options)
        told("GET", f"{host}/{WHOLE['id']}", 200, f"{host}/{{memoryId}}", params=asked | options)
    embedded(door, "a", 4)
    search, recall, asking = "/v1/memory/search", "/v1/memory/recall", asked | {"query": "x"}
    ranked = asking | {"rank": "relevance"}
    for options in ({}, {"fields": "all", "minSimilarity": -1}):
        told("GET", entries, 200, params=ranked | options)
        for mode in MODES:
            etag = told("POST", search, 200, json=asking | options | {"mode": mode}).headers["ETag"]
            known = {"If-None-Match": etag}
            told("POST", search, 304, json=asking | options | {"mode": mode}, headers=known)
    for options in ({}, {"format": "xml"}, {"format": "json"}, {"tokenBudget": 1}, {"query": "x" * 10_000}):
        etag = told("POST", recall, 200, json=asking | options).headers["ETag"]
        told("POST", recall, 304, json=asking | options, headers={"If-None-Match": etag})
    told("POST", recall, 200, json=asking | {"memoryRef": ["a", "b"], "shares": {"a": 0.5}})
    for path in (search, recall):
        told("POST", path, 400, json=asked)
        told("POST", path, 415, content=b"x")
        told("POST", path, 413, content=b" " * (9 << 20), headers=JSON)
    told("GET", f"/v1/memory/receipts/{WHOLE['id']}", 200, "/v1/memory/receipts/{id}", params=asked)
    told("GET", "/v1/memory/stats", 200, params=asked)
    told("GET", "/v1/memory/stats", 200, params={"memoryRef": "never written"})
    told("GET", "/v1/memory/events", 200, params=asked)
    secret = told(
        "PUT", "/v1/secrets/s", 204, "/v1/secrets/{secretId}", json={"value": "zebra quartz meadow"}
    )
    told("GET", secret.headers["Location"], 200, "/v1/memory/jobs/{jobId}")
    told("GET", "/v1/secrets", 200)
    told("DELETE", "/v1/secrets/s", 204, "/v1/secrets/{secretId}")
    told("DELETE", "/v1/secrets/s", 404, "/v1/secrets/{secretId}")
    told("POST", "/v1/memory/import", 202, json=asked | {"content": "x", "createdAt": "2020-01-01T00:00:00Z"})
    told("DELETE", f"{host}/{WHOLE['id']}", 200, f"{host}/{{memoryId}}", params=asked)
    told("DELETE", f"{entries}/{WHOLE['id']}", 404, one, params=asked)
    told("DELETE", "/v1/memory", 200, params=asked)
    with tenant.held():
        told("POST", entries, 202, json=asked | {"content": "x", "id": "later"})
        told("DELETE", f"{entries}/later", 200, one, params=asked)
    with tenant.door("read") as reader:
        assert_described(document, entries, reader.post(entries), 403)
        reader.headers.clear()
        assert_described(document, entries, reader.post(entries), 401)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        *((f"{route.method} {route.path}", GenerationMode.POSITIVE) for route in ROUTES),
        *(
            (f"{route.method} {route.path}", GenerationMode.NEGATIVE)
            for route in ROUTES
            if route.operation.asks
        ),
    ],
)
def test_the_product_keeps_to_it(
    document: dict[str, Any], inhabited: Tenant, name: str, mode: GenerationMode, foreseen: None
) -> None:
    """Whatever is asked, the answer has a described status, type, headers and body; wrong data is refused."""
    schema = schemathesis.openapi.from_dict(copy.deepcopy(document))
    schema.config.update(base_url=inhabited.url)
    method, path = name.split(" ")
    operation = schema[path][method]
    headers = {"Authorization": f"Bearer {inhabited.key()}"}
    held_to = list(CHECKS)
    if operation.definition.raw["operationId"] not in HOLD_MORE_THAN_A_SCHEMA_CAN_SAY:
        held_to.append(checks.positive_data_acceptance)

    @settings(
        max_examples=BODIES if operation.body else EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        response = case.call(headers=headers)
        case.validate_response(response, checks=held_to)

    check()
