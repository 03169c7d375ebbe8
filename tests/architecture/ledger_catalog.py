"""What PostgreSQL itself says of a ledger: its catalogs as plain, comparable rows."""

from typing import Any

import psycopg

_PARTS = {
    "columns": """
        SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity::text,
               pg_get_expr(d.adbin, d.adrelid), a.attacl::text
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'S') AND a.attnum > 0
          AND NOT a.attisdropped""",
    "constraints": """
        SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace""",
    "indexes": """
        SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'""",
    "relations": """
        SELECT relname, relkind::text, relrowsecurity, relforcerowsecurity, relacl::text, relpersistence::text
        FROM pg_class WHERE relnamespace = 'public'::regnamespace""",
    "options": """
        SELECT relname, reloptions FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND reloptions IS NOT NULL""",
    "policies": """
        SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check
        FROM pg_policies WHERE schemaname = 'public'""",
    "functions": """
        SELECT p.proname, pg_get_functiondef(p.oid), p.proacl::text
        FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
        WHERE p.pronamespace = 'public'::regnamespace AND l.lanname IN ('sql', 'plpgsql')""",
    "triggers": """
        SELECT tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal""",
    "extensions": "SELECT extname, extversion FROM pg_extension",
    "counters": "SELECT * FROM counters",
    "migrations": "SELECT name FROM migrations",
}


def catalog(conn: psycopg.Connection[Any]) -> dict[str, list[tuple[Any, ...]]]:
    """Every object of the ledger with its definition and its grants."""
    return {part: sorted(conn.execute(query).fetchall(), key=repr) for part, query in _PARTS.items()}


def tenant_tables(conn: psycopg.Connection[Any]) -> list[str]:
    """Tables with a ``tenant_id``."""
    found = conn.execute(
        """SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
           WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
             AND a.attname = 'tenant_id' ORDER BY 1"""
    )
    return [name for (name,) in found]
