"""The truth: what the ledger holds, asked as its owner and not through the product."""

from tests.faults.harm import owner
from tests.services import Product


def newest(product: Product, ref: str) -> list[str]:
    """Ids of a memory's entries in accept order, newest first."""
    return _ids(
        product,
        "SELECT e.id FROM entries e JOIN scopes s USING (tenant_id, scope_id)"
        " WHERE s.memory_ref = %s AND NOT e.superseded ORDER BY e.seq DESC",
        ref,
    )


def pending(product: Product, ref: str) -> int:
    """Accepted Drafts of a memory that are not filed, failed ones too."""
    return len(
        _ids(
            product,
            "SELECT i.id FROM inbox i JOIN scopes s USING (tenant_id, scope_id) WHERE s.memory_ref = %s",
            ref,
        )
    )


def written_twice(product: Product, ref: str) -> list[str]:
    """Ids that the memory's events say were filed more than once."""
    return _ids(
        product,
        "SELECT id FROM events e JOIN scopes s USING (tenant_id, scope_id), unnest(e.ids) AS id"
        " WHERE s.memory_ref = %s AND e.type = 'memory.written' GROUP BY id HAVING count(*) > 1",
        ref,
    )


def _ids(product: Product, query: str, ref: str) -> list[str]:
    with owner(product) as conn:
        return conn.execute(query.encode(), [ref]).fetchall()
