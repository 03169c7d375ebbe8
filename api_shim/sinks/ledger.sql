-- name: accept
SELECT index, seq, created_at FROM accept_drafts(
    %(refs)s::text[], %(ids)s::text[], %(digests)s::bytea[], %(sealed)s::bytea[], %(created)s::timestamptz[],
    %(runs)s::text[])
ORDER BY index

-- name: revive
DELETE FROM receipts r
USING scopes s, unnest(%(refs)s::text[], %(ids)s::text[]) AS given (ref, id)
WHERE s.tenant_id = current_tenant() AND s.memory_ref = given.ref
  AND r.tenant_id = s.tenant_id AND r.scope_id = s.scope_id AND r.id = given.id AND r.removed_at IS NOT NULL
RETURNING r.id

-- name: remove
SELECT remove_entry(%(ref)s, %(id)s) AS outcome

-- name: forget
SELECT forget_entries(%(ref)s, %(tag)s, %(before)s) AS removed

-- name: last_pending
SELECT coalesce(max(i.seq), 0) AS seq
FROM scopes s JOIN inbox i USING (tenant_id, scope_id)
WHERE s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s AND i.failed_at IS NULL

-- name: put_secret
WITH kept AS (
    INSERT INTO secrets (tenant_id, secret_id, sealed) VALUES (current_tenant(), %(id)s, %(sealed)s)
    ON CONFLICT (tenant_id, secret_id) DO UPDATE SET sealed = excluded.sealed, created_at = now()
), told AS (
    UPDATE tenants SET secrets_version = secrets_version + 1 WHERE tenant_id = current_tenant()
)
INSERT INTO jobs (tenant_id, kind, params)
VALUES (current_tenant(), 'secret-sweep', jsonb_build_object('secretId', %(id)s::text))
RETURNING job_id

-- name: delete_secret
WITH gone AS (
    DELETE FROM secrets WHERE tenant_id = current_tenant() AND secret_id = %(id)s RETURNING 1
), told AS (
    UPDATE tenants SET secrets_version = secrets_version + 1
    WHERE tenant_id = current_tenant() AND EXISTS (SELECT FROM gone)
)
SELECT count(*) AS n FROM gone
