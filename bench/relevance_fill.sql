-- name: fill
-- Entries of a pool's texts with exact costs, each with a vector near one of the pool's centres.
WITH pool AS MATERIALIZED (
    SELECT row_number() OVER () - 1 AS place, p.content, p.costs, p.centre::vector AS centre
    FROM json_to_recordset(%(pool)s) AS p (content text, costs integer[], centre text)
), noise AS MATERIALIZED (
    SELECT row_number() OVER () - 1 AS place, n.value::vector AS value
    FROM json_array_elements_text(%(noise)s) AS n (value)
), size AS (
    SELECT (SELECT count(*) FROM pool) AS n, (SELECT count(*) FROM noise) AS m
), filed AS (
    INSERT INTO entries (
        tenant_id, scope_id, seq, id, content, tags, kind, confidence, pinned, metadata, links, supersedes,
        observed_at, created_at, costs, row_costs, turn)
    SELECT s.tenant_id, s.scope_id, g.seq, gen_random_uuid()::text, p.content, '{note}', 'fact', 1, false, '{}',
           '[]', '{}', now(), date_trunc('milliseconds', now()), p.costs, p.costs, g.i
    FROM (SELECT nextval('accept_seq') AS seq, i FROM generate_series(0, %(number)s - 1) AS i) g
    CROSS JOIN size
    JOIN pool p ON p.place = g.i %% size.n
    JOIN scopes s ON s.tenant_id = %(tenant)s AND s.memory_ref = %(ref)s
    RETURNING tenant_id, scope_id, seq, id, costs, turn
), embedded AS (
    INSERT INTO vectors (tenant_id, scope_id, model_id, seq, id, in_graph, costs, embedding)
    SELECT f.tenant_id, f.scope_id, %(model)s, f.seq, f.id, %(in_graph)s, f.costs,
           l2_normalize(p.centre + n.value)::halfvec
    FROM filed f CROSS JOIN size
    JOIN pool p ON p.place = f.turn %% size.n
    JOIN noise n ON n.place = (f.turn / size.n + f.turn * 7) %% size.m
    RETURNING 1
)
UPDATE scopes SET active = active + %(number)s, documents = documents + %(number)s, version = version + 1,
       in_graph = %(in_graph)s, terms = terms + %(number)s * 15
WHERE tenant_id = %(tenant)s AND memory_ref = %(ref)s AND (SELECT count(*) FROM embedded) > 0

-- name: postings
INSERT INTO postings (tenant_id, scope_id, term, seq, tf, length)
SELECT e.tenant_id, e.scope_id, t.term, e.seq, t.tf, t.length
FROM (SELECT p.content, l.term, l.tf, sum(l.tf) OVER (PARTITION BY p.content) AS length
      FROM json_to_recordset(%(pool)s) AS p (content text), lexemes(p.content) l) t
JOIN entries e USING (content) JOIN scopes s USING (tenant_id, scope_id)
WHERE s.tenant_id = %(tenant)s AND s.memory_ref = %(ref)s
ON CONFLICT DO NOTHING

-- name: model
SELECT model_id, (SELECT indexdef FROM pg_indexes WHERE indexname = 'vectors_graph_' || model_id) AS graph
FROM embedding_models WHERE state = 'serving' AND name = %(name)s

-- name: bare
SELECT e.id, e.content, 1 - n.distance AS similarity
FROM (
    SELECT v.tenant_id, v.scope_id, v.id, {vector} <=> %(vector)s::{type} AS distance FROM vectors v
    WHERE v.tenant_id = %(tenant)s AND v.scope_id = %(scope)s AND v.model_id = {model} {in_graph}
    ORDER BY {vector} <=> %(vector)s::{type}
    LIMIT 20
) n JOIN entries e USING (tenant_id, scope_id, id)
ORDER BY n.distance
