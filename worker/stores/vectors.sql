-- name: register
SELECT register_model(%(name)s, %(dimension)s) AS model_id

-- name: state
SELECT state, dimension FROM embedding_models WHERE model_id = %(model)s

-- name: tenants
SELECT tenant_id, waiting FROM tenants_unembedded(%(model)s)

-- name: tenants_outgrown
SELECT tenant_id FROM tenants_outgrown(%(most)s, %(model)s)

-- name: serve
SELECT serve_model(%(model)s)

-- name: waiting
SELECT u.scope_id, u.id, e.content, e.speaker, md5(concat_ws(E'\n', e.speaker, e.content)) AS mark
FROM unembedded u JOIN entries e USING (tenant_id, scope_id, id)
WHERE u.tenant_id = current_tenant() AND u.model_id = %(model)s AND u.failures < 5 AND NOT e.superseded
ORDER BY u.failures, e.seq DESC
LIMIT %(limit)s

-- name: share_graphs
-- Who keeps vectors shares the tenant's graphs, who says that a scope is in one has them alone: else a vector
-- could be kept outside a graph that its scope is searched by.
SELECT pg_advisory_xact_lock_shared(hashtext('graphs'), current_tenant())

-- name: hold_graphs
SELECT pg_advisory_xact_lock(hashtext('graphs'), current_tenant())

-- name: keep
-- Entries are held as they are until the commit. One that somebody is changing is passed over and waits on.
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(%(scopes)s::bigint[], %(ids)s::text[], %(marks)s::text[], %(vectors)s::text[])
        AS g (scope_id, id, mark, embedding)
), held AS MATERIALIZED (
    SELECT e.tenant_id, e.scope_id, e.seq, e.id, e.expires_at, e.costs, g.embedding
    FROM given g
    JOIN entries e ON e.tenant_id = current_tenant() AND e.scope_id = g.scope_id AND e.id = g.id
    WHERE NOT e.superseded AND md5(concat_ws(E'\n', e.speaker, e.content)) = g.mark
    FOR SHARE OF e SKIP LOCKED
), kept AS (
    INSERT INTO vectors (tenant_id, scope_id, model_id, seq, id, expires_at, in_graph, costs, embedding)
    SELECT h.tenant_id, h.scope_id, %(model)s, h.seq, h.id, h.expires_at, s.in_graph, h.costs,
           h.embedding::halfvec
    FROM held h JOIN scopes s USING (tenant_id, scope_id)
    ORDER BY h.scope_id, h.seq
    ON CONFLICT (tenant_id, scope_id, model_id, seq) DO UPDATE
        SET embedding = excluded.embedding, costs = excluded.costs
    RETURNING scope_id, id
)
DELETE FROM unembedded u USING kept k
WHERE u.tenant_id = current_tenant() AND u.scope_id = k.scope_id AND u.id = k.id AND u.model_id = %(model)s
RETURNING u.id

-- name: failed
UPDATE unembedded SET failures = failures + 1
WHERE tenant_id = current_tenant() AND model_id = %(model)s
  AND scope_id = %(scope)s AND id = %(id)s

-- name: set_aside
SELECT count(*) AS n FROM unembedded
WHERE tenant_id = current_tenant() AND model_id = %(model)s AND failures >= 5

-- name: once_more
UPDATE unembedded SET failures = 4, queued_at = now()
WHERE tenant_id = current_tenant() AND model_id = %(model)s AND failures >= 5
RETURNING id

-- name: outgrown
SELECT s.scope_id, s.memory_ref FROM scopes s
WHERE s.tenant_id = current_tenant() AND NOT s.in_graph AND s.documents > %(most)s
  AND graph_pays(s.documents, %(model)s)

-- name: enter_graph
WITH chosen AS MATERIALIZED (
    SELECT model_id, seq FROM vectors
    WHERE tenant_id = current_tenant() AND scope_id = %(scope)s AND NOT in_graph
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
), moved AS (
    UPDATE vectors v SET in_graph = true FROM chosen c
    WHERE v.tenant_id = current_tenant() AND v.scope_id = %(scope)s
      AND v.model_id = c.model_id AND v.seq = c.seq
    RETURNING 1
)
SELECT count(*) AS n FROM moved

-- name: in_graph
UPDATE scopes SET in_graph = true
WHERE tenant_id = current_tenant() AND scope_id = %(scope)s AND NOT EXISTS (
    SELECT FROM vectors v WHERE v.tenant_id = current_tenant() AND v.scope_id = %(scope)s AND NOT v.in_graph)
