-- name: newest
SELECT id, content, tags, created_at
FROM entries
WHERE tenant_id = %(tenant)s AND NOT superseded
  AND scope_id = (SELECT scope_id FROM scopes WHERE tenant_id = %(tenant)s AND memory_ref = %(ref)s)
ORDER BY seq DESC
LIMIT %(limit)s
