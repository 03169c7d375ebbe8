-- name: begin
SELECT set_config('foreword.tenant', %(tenant)s::text, true)

-- name: recent
WITH walked AS MATERIALIZED (  -- once, not once a row
    SELECT s.scope_id, w.*, count_live(s.scope_id, %(tag)s, %(kind)s, %(now)s) AS total
    FROM scopes s
    CROSS JOIN LATERAL walk_recent(
        s.scope_id, %(ordinal)s, %(budget)s, %(limit)s, %(fit)s, %(before)s, %(tag)s, %(kind)s, %(now)s,
        %(most)s) w
    WHERE s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s
)
SELECT w.used, w.visited, w.oversize, w.ended, w.smallest_omitted, w.resume, w.total,
       e.seq, e.id, e.content, e.tags, e.created_at, e.expires_at
FROM walked w
LEFT JOIN LATERAL unnest(w.kept) AS kept_seq ON true
LEFT JOIN LATERAL (
    SELECT * FROM entries
    WHERE tenant_id = current_tenant() AND scope_id = w.scope_id AND seq = kept_seq AND NOT superseded
    OFFSET 0) e ON true
ORDER BY e.seq DESC

-- name: recent_full
WITH walked AS MATERIALIZED (
    SELECT s.scope_id, w.*, count_live(s.scope_id, %(tag)s, %(kind)s, %(now)s) AS total
    FROM scopes s
    CROSS JOIN LATERAL walk_recent(
        s.scope_id, %(ordinal)s, %(budget)s, %(limit)s, %(fit)s, %(before)s, %(tag)s, %(kind)s, %(now)s,
        %(most)s) w
    WHERE s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s
)
SELECT w.used, w.visited, w.oversize, w.ended, w.smallest_omitted, w.resume, w.total, e.*
FROM walked w
LEFT JOIN LATERAL unnest(w.kept) AS kept_seq ON true
LEFT JOIN LATERAL (
    SELECT * FROM entries
    WHERE tenant_id = current_tenant() AND scope_id = w.scope_id AND seq = kept_seq AND NOT superseded
    OFFSET 0) e ON true
ORDER BY e.seq DESC

-- name: entry
SELECT e.*
FROM scopes s JOIN entries e USING (tenant_id, scope_id)
WHERE s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s AND e.id = %(id)s
  AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > %(now)s)

-- name: is_pending
SELECT is_pending(%(ref)s, %(seq)s) AS pending

-- name: receipt
SELECT r.seq, r.created_at, i.seq IS NOT NULL AS waiting, i.failed_at IS NOT NULL AS failed, i.reason
FROM scopes s JOIN receipts r USING (tenant_id, scope_id)
LEFT JOIN inbox i ON i.tenant_id = r.tenant_id AND i.scope_id = r.scope_id AND i.seq = r.seq
WHERE s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s AND r.id = %(id)s AND r.removed_at IS NULL

-- name: statuses
SELECT r.seq, i.seq IS NOT NULL AS waiting, i.failed_at IS NOT NULL AS failed, i.reason,
       r.removed_at IS NOT NULL AS removed
FROM scopes s JOIN receipts r USING (tenant_id, scope_id)
LEFT JOIN inbox i ON i.tenant_id = r.tenant_id AND i.scope_id = r.scope_id AND i.seq = r.seq
WHERE s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s AND r.id = ANY (%(ids)s)

-- name: export
SELECT e.*
FROM scopes s
CROSS JOIN LATERAL (
    SELECT * FROM entries
    WHERE tenant_id = s.tenant_id AND scope_id = s.scope_id AND seq > %(behind)s
      AND NOT superseded AND (expires_at IS NULL OR expires_at > %(now)s)
    ORDER BY seq
    LIMIT %(limit)s) e
WHERE s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s
ORDER BY e.seq

-- name: stats
SELECT count_live(s.scope_id, NULL, NULL, %(now)s) AS entries,
       (SELECT count(*) FROM inbox i WHERE i.tenant_id = s.tenant_id AND i.scope_id = s.scope_id
        AND i.failed_at IS NULL) AS pending,
       (SELECT count(*) FROM inbox i WHERE i.tenant_id = s.tenant_id AND i.scope_id = s.scope_id
        AND i.failed_at IS NOT NULL) AS failed,
       (SELECT json_object_agg(c.name, coalesce(t.cost, 0))
        FROM counters c LEFT JOIN (
            SELECT u.ordinal - 1 AS ordinal, sum(u.cost) AS cost
            FROM entries e, unnest(e.costs) WITH ORDINALITY AS u (cost, ordinal)
            WHERE e.tenant_id = s.tenant_id AND e.scope_id = s.scope_id AND NOT e.superseded
              AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
            GROUP BY u.ordinal) t USING (ordinal)
        WHERE c.complete) AS costs,
       (SELECT json_object_agg(k.kind, k.n) FROM (
            SELECT e.kind, count(*) AS n FROM entries e
            WHERE e.tenant_id = s.tenant_id AND e.scope_id = s.scope_id AND NOT e.superseded
              AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
            GROUP BY e.kind ORDER BY e.kind) k) AS kinds
FROM scopes s
WHERE s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s

-- name: events
SELECT v.event_seq, v.type, v.ids, v.at
FROM scopes s
CROSS JOIN LATERAL (
    SELECT * FROM events
    WHERE tenant_id = s.tenant_id AND scope_id = s.scope_id AND event_seq > %(behind)s
    ORDER BY event_seq
    LIMIT %(limit)s) v
WHERE s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s
ORDER BY v.event_seq

-- name: job
SELECT job_id, status, progress, error FROM jobs
WHERE tenant_id = current_tenant() AND job_id = %(job_id)s::uuid

-- name: secret_ids
SELECT secret_id FROM secrets WHERE tenant_id = current_tenant() ORDER BY secret_id

-- name: find_key
SELECT tenant_name, hash, scopes, ref_glob FROM find_key(%(tenant)s, %(key_id)s)

-- name: counters
SELECT name, json_complete FROM counters WHERE complete

-- name: backlog
SELECT 'inbox' AS queue, waiting, failed, oldest_seconds FROM inbox_backlog()
UNION ALL
SELECT 'unembedded', waiting, failed, oldest_seconds FROM embedding_backlog()

-- name: serves
SELECT EXISTS (SELECT FROM embedding_models WHERE state = 'serving' AND name = %(name)s) AS serves

-- name: ping
-- Whether row-level security fails to bind this role: by its attributes, or since it owns the tables.
SELECT rolsuper OR rolbypassrls OR NOT coalesce(row_security_active(to_regclass('entries')), true) AS unsafe
FROM pg_roles WHERE rolname = current_user
