-- Runs as the shim keeps them. A run without ``finished_at`` is somebody's while its lease lasts.

-- name: open
INSERT INTO runs (tenant_id, run_id, workflow_id, mode, forked_from, status, lease_until)
VALUES (current_tenant(), %(run)s, %(workflow)s, %(mode)s, %(source)s, 'running',
        clock_timestamp() + make_interval(secs => %(lease)s))
RETURNING *

-- name: renew
UPDATE runs SET lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
WHERE tenant_id = current_tenant() AND run_id = %(run)s AND finished_at IS NULL
  AND lease_until > clock_timestamp()
RETURNING run_id

-- name: finish
UPDATE runs SET status = %(status)s, variables = %(variables)s, error = %(error)s, finished_at = clock_timestamp()
WHERE tenant_id = current_tenant() AND run_id = %(run)s AND finished_at IS NULL
RETURNING run_id

-- name: bury
-- Whose server is gone: it is failed from now on, whatever that server still does.
UPDATE runs SET status = 'failed', error = %(error)s, finished_at = clock_timestamp()
WHERE tenant_id = current_tenant() AND run_id = %(run)s AND finished_at IS NULL
  AND lease_until <= clock_timestamp()
RETURNING run_id

-- name: tell
SELECT tell_runs(%(runs)s::text[], %(ids)s::text[], %(types)s::text[], %(payloads)s::jsonb[]) AS told

-- name: register_secrets
SELECT register_run_secrets(%(run)s, %(ids)s::text[], %(sealed)s::bytea[]) AS registered

-- name: forget_secrets
SELECT forget_run_secrets(%(run)s) AS gone

-- name: replay
INSERT INTO runs (tenant_id, run_id, workflow_id, mode, forked_from, status, variables, error, created_at,
                  finished_at, lease_until)
SELECT tenant_id, %(run)s, workflow_id, 'replay', %(source)s, status, variables, error, clock_timestamp(),
       clock_timestamp(), clock_timestamp()
FROM runs WHERE tenant_id = current_tenant() AND run_id = %(source)s AND finished_at IS NOT NULL
RETURNING *

-- name: replay_events
INSERT INTO run_events (tenant_id, run_id, seq, event_id, type, payload, at)
SELECT tenant_id, %(run)s, seq, event_id, type, payload, at
FROM run_events WHERE tenant_id = current_tenant() AND run_id = %(source)s
RETURNING seq

-- name: admit_tenant
-- A tenant that has no key, for what must be another tenant's; its number is below every other's.
INSERT INTO tenants (tenant_id, name) OVERRIDING SYSTEM VALUE VALUES (current_tenant(), %(name)s)
ON CONFLICT DO NOTHING
RETURNING tenant_id

-- name: run
SELECT r.*, r.finished_at IS NULL AND r.lease_until <= clock_timestamp() AS lost
FROM runs r WHERE r.tenant_id = current_tenant() AND r.run_id = %(run)s

-- name: events
SELECT run_id, seq, event_id, type, payload, at FROM run_events
WHERE tenant_id = current_tenant() AND run_id = %(run)s AND seq > %(behind)s
ORDER BY seq

-- name: event_seq
SELECT seq FROM run_events WHERE tenant_id = current_tenant() AND run_id = %(run)s AND event_id = %(event)s
