-- name: run_secrets
SELECT secret_id, sealed FROM run_secrets WHERE tenant_id = current_tenant() AND run_id = %(run)s ORDER BY n

-- name: tell
SELECT tell_runs(%(runs)s::text[], %(ids)s::text[], %(types)s::text[], %(payloads)s::jsonb[])
