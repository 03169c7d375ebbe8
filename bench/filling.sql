-- name: scope
INSERT INTO scopes (tenant_id, memory_ref) VALUES (%(tenant)s, %(ref)s) ON CONFLICT DO NOTHING

-- name: fill
WITH pool AS MATERIALIZED (
    SELECT row_number() OVER () - 1 AS place, p.content, p.costs
    FROM json_to_recordset(%(pool)s) AS p (content text, costs integer[])
), size AS (
    SELECT count(*) AS n FROM pool
), filed AS (
    INSERT INTO entries (
        tenant_id, scope_id, seq, id, content, tags, kind, confidence, pinned, metadata, links, supersedes,
        observed_at, created_at, costs, row_costs)
    SELECT s.tenant_id, s.scope_id, g.seq, gen_random_uuid()::text, p.content, '{note}', 'fact', 1, false, '{}',
           '[]', '{}', now(), date_trunc('milliseconds', now()), p.costs, p.costs
    FROM (SELECT nextval('accept_seq') AS seq, i FROM generate_series(0, %(number)s - 1) AS i) g
    CROSS JOIN size
    JOIN pool p ON p.place = g.i %% size.n
    JOIN scopes s ON s.tenant_id = %(tenant)s AND s.memory_ref = %(ref)s
)
UPDATE scopes SET active = active + %(number)s, version = version + 1
WHERE tenant_id = %(tenant)s AND memory_ref = %(ref)s
