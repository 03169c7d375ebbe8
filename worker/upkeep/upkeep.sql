-- name: tenants_with_work
SELECT tenant_id, drafts, jobs FROM tenants_with_work()

-- name: all_tenants
SELECT tenant_id FROM all_tenants()

-- name: expired_scopes
SELECT s.scope_id, s.memory_ref FROM scopes s
WHERE s.tenant_id = current_tenant() AND EXISTS (
    SELECT FROM entries e WHERE e.tenant_id = s.tenant_id AND e.scope_id = s.scope_id
    AND e.expires_at <= %(now)s)
LIMIT 500

-- name: purge_expired
WITH gone AS (
    DELETE FROM entries WHERE tenant_id = current_tenant() AND scope_id = ANY (%(scopes)s)
      AND expires_at <= %(now)s
    RETURNING scope_id, id, superseded
), taken AS (
    UPDATE receipts r SET removed_at = clock_timestamp() FROM gone g
    WHERE r.tenant_id = current_tenant() AND r.scope_id = g.scope_id AND r.id = g.id
), counted AS (
    UPDATE scopes s SET active = s.active - c.shown
    FROM (SELECT scope_id, count(*) FILTER (WHERE NOT superseded) AS shown FROM gone GROUP BY scope_id) c
    WHERE s.tenant_id = current_tenant() AND s.scope_id = c.scope_id
)
SELECT count(*) AS n FROM gone

-- name: purge_receipts
WITH gone AS (
    DELETE FROM receipts WHERE tenant_id = current_tenant() AND removed_at < %(before)s
    RETURNING scope_id, id
)
-- the id is free again: what replaced its first bearer does not replace the next
DELETE FROM supersessions x USING gone
WHERE x.tenant_id = current_tenant() AND x.scope_id = gone.scope_id AND x.old_id = gone.id

-- name: purge_events
DELETE FROM events WHERE tenant_id = current_tenant() AND at < %(before)s

-- name: failed
SELECT count(*) AS n FROM inbox WHERE tenant_id = current_tenant() AND failed_at IS NOT NULL

-- name: retry
UPDATE inbox SET failed_at = NULL, reason = NULL
WHERE tenant_id = current_tenant() AND failed_at IS NOT NULL
RETURNING seq

-- name: next_job
UPDATE jobs SET status = 'running', updated_at = clock_timestamp()
WHERE tenant_id = current_tenant() AND job_id = (
    SELECT job_id FROM jobs
    WHERE tenant_id = current_tenant()
      AND (status = 'queued' OR status = 'running' AND updated_at < clock_timestamp() - %(silence)s)
    ORDER BY created_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED)
RETURNING job_id, kind, resume

-- name: advance_job
UPDATE jobs SET status = 'running', progress = %(progress)s, resume = %(resume)s, updated_at = clock_timestamp()
WHERE tenant_id = current_tenant() AND job_id = %(job_id)s AND status IN ('queued', 'running')

-- name: end_job
UPDATE jobs SET status = %(status)s, progress = 1, error = %(error)s, updated_at = now()
WHERE tenant_id = current_tenant() AND job_id = %(job_id)s AND status IN ('queued', 'running')

-- name: size
SELECT count(*) AS n FROM entries WHERE tenant_id = current_tenant()

-- name: next_entries
SELECT e.*, s.memory_ref
FROM entries e JOIN scopes s USING (tenant_id, scope_id)
WHERE e.tenant_id = current_tenant() AND (e.scope_id, e.id) > (%(scope_id)s, %(id)s::text)
ORDER BY e.scope_id, e.id
LIMIT %(limit)s

-- name: rewrite
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(entries)s) AS g (
        scope_id bigint, id text, content text, tags text[], metadata jsonb, source text, speaker text,
        conversation text, costs integer[], row_costs integer[], json_costs integer[])
), written AS (
    UPDATE entries e SET content = g.content, tags = g.tags, metadata = g.metadata, source = g.source,
           speaker = g.speaker, conversation = g.conversation, costs = g.costs, row_costs = g.row_costs,
           json_costs = g.json_costs
    FROM given g
    WHERE e.tenant_id = current_tenant() AND e.scope_id = g.scope_id AND e.id = g.id
    RETURNING e.scope_id, e.id, e.seq, e.tags
), untagged AS (
    DELETE FROM entry_tags t USING written w
    WHERE t.tenant_id = current_tenant() AND t.scope_id = w.scope_id AND t.id = w.id AND t.tag <> ALL (w.tags)
), tagged AS (
    INSERT INTO entry_tags (tenant_id, scope_id, tag, seq, id)
    SELECT current_tenant(), scope_id, tag, seq, id FROM written, unnest(tags) AS tag
    ON CONFLICT DO NOTHING
)
UPDATE scopes SET version = version + 1
WHERE tenant_id = current_tenant() AND scope_id IN (SELECT scope_id FROM written)

-- name: incomplete
SELECT count(*) AS n FROM entries
WHERE tenant_id = current_tenant() AND least(cardinality(costs), cardinality(json_costs)) < %(counters)s

-- name: uncounted
SELECT e.scope_id, e.id, e.content, e.kind, e.confidence, e.observed_at, s.memory_ref,
       encode(sha256(convert_to(e.content, 'UTF8')), 'hex') AS digest
FROM entries e JOIN scopes s USING (tenant_id, scope_id)
WHERE e.tenant_id = current_tenant() AND (e.scope_id, e.id) > (%(scope_id)s, %(id)s::text)
  AND (least(cardinality(e.costs), cardinality(e.json_costs)) < %(counters)s OR %(everything)s)
ORDER BY e.scope_id, e.id
LIMIT %(limit)s

-- name: recount
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(entries)s) AS g (
        scope_id bigint, id text, digest text, costs integer[], row_costs integer[], json_costs integer[])
), written AS (
    UPDATE entries e SET costs = g.costs, row_costs = g.row_costs, json_costs = g.json_costs
    FROM given g
    WHERE e.tenant_id = current_tenant() AND e.scope_id = g.scope_id AND e.id = g.id
      -- a sweep for secrets may have rewritten it meanwhile, and counted it itself
      AND encode(sha256(convert_to(e.content, 'UTF8')), 'hex') = g.digest
    RETURNING e.scope_id
)
UPDATE scopes SET version = version + 1
WHERE tenant_id = current_tenant() AND scope_id IN (SELECT scope_id FROM written)


-- name: forget_run_secrets
SELECT forget_run_secrets(run_id)
FROM (SELECT DISTINCT s.run_id
      FROM run_secrets s JOIN runs r USING (tenant_id, run_id)
      WHERE s.tenant_id = current_tenant()
        AND (r.finished_at IS NOT NULL OR r.lease_until <= clock_timestamp())
      ORDER BY s.run_id) ended

-- name: purge_runs
DELETE FROM runs r
WHERE r.tenant_id = current_tenant() AND coalesce(r.finished_at, r.lease_until) < %(before)s
  AND NOT EXISTS (SELECT FROM inbox i WHERE i.tenant_id = r.tenant_id AND i.run_id = r.run_id)

-- name: next_runs
SELECT run_id, jsonb_build_array(variables, error) AS told FROM runs
WHERE tenant_id = current_tenant() AND run_id > %(after)s ORDER BY run_id LIMIT %(limit)s
FOR NO KEY UPDATE

-- name: told
SELECT run_id, seq, payload AS told FROM run_events
WHERE tenant_id = current_tenant() AND run_id = ANY (%(runs)s)

-- name: hide_in_runs
UPDATE runs r SET variables = g.hidden -> 0, error = nullif(g.hidden -> 1, 'null')
FROM json_to_recordset(%(rows)s) AS g (run_id text, hidden jsonb)
WHERE r.tenant_id = current_tenant() AND r.run_id = g.run_id

-- name: hide_in_run_events
UPDATE run_events e SET payload = g.hidden
FROM json_to_recordset(%(rows)s) AS g (run_id text, seq bigint, hidden jsonb)
WHERE e.tenant_id = current_tenant() AND e.run_id = g.run_id AND e.seq = g.seq
