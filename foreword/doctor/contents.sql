-- What is stored, in numbers. Run as the ledger's owner: other roles see one tenant or none.

-- name: sees_all
SELECT pg_has_role(current_user, relowner, 'USAGE') OR (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
FROM pg_class
WHERE oid = 'entries'::regclass;

-- name: inbox
SELECT count(*) FILTER (WHERE failed_at IS NULL),
       count(*) FILTER (WHERE failed_at IS NOT NULL),
       coalesce(extract(epoch FROM now() - min(arrived_at) FILTER (WHERE failed_at IS NULL)), 0)::float8
FROM inbox;

-- name: uncounted
SELECT array_agg(name ORDER BY ordinal) FILTER (WHERE NOT complete), bool_and(json_complete)
FROM counters;

-- name: sizes
SELECT count(*),
       count(*) FILTER (WHERE costs[1] > %(budget)s),
       count(*) FILTER (WHERE octet_length(content) > %(near_bytes)s)
FROM entries
WHERE NOT superseded;

-- name: hopeless
SELECT count(*)
FROM (
    SELECT FROM entries WHERE NOT superseded
    GROUP BY tenant_id, scope_id
    HAVING min(costs[1]) > %(budget)s
) scope;
