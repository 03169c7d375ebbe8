"""Whatever is asked of runs, agents and seams, the document describes the answer, and it is never a 500."""

import copy
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode, checks

from api_shim.doors.routes import RUNS, SEAMS
from tests.acceptance.tenants import Tenant
from tests.acceptance.test_openapi import BODIES, CHECKS

NAMES = [f"{route.method} {route.path}" for route in (*RUNS, *SEAMS)]
TOLERANT = {"createRun", "forkRun", "seedMemory"}
"""Operations whose bodies may hold what the schema does not name, or must fit a workflow's inputs."""


@pytest.fixture(scope="module")
def document(host_url: str) -> dict[str, Any]:
    """The document of a host that has runs."""
    return dict(httpx.get(f"{host_url}/v1/openapi.json").json())


@pytest.fixture(scope="module")
def key(product: dict[str, Any]) -> str:
    """A key to a tenant that anything may happen to."""
    return Tenant.fresh(product).key()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("name", NAMES)
def test_the_host_keeps_to_its_document(
    document: dict[str, Any], host_url: str, key: str, name: str, mode: GenerationMode
) -> None:
    """Status, type, headers and body are described; wrong data is refused, and right data is taken."""
    schema = schemathesis.openapi.from_dict(copy.deepcopy(document))
    schema.config.update(base_url=host_url)
    method, path = name.split(" ")
    operation = schema[path][method]
    tolerant = operation.definition.raw["operationId"] in TOLERANT
    refused = [check for check in CHECKS if not (tolerant and check is checks.negative_data_rejection)]

    @settings(
        max_examples=BODIES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        response = case.call(headers={"Authorization": f"Bearer {key}"})
        case.validate_response(response, checks=refused)

    check()
