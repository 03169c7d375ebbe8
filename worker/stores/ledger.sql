-- name: begin
SELECT set_config('foreword.tenant', %(tenant)s::text, true)

-- name: policy
SELECT secrets_version, pii FROM tenants WHERE tenant_id = current_tenant() FOR SHARE

-- name: secrets
SELECT secret_id, sealed FROM secrets WHERE tenant_id = current_tenant() ORDER BY secret_id

-- name: claim
SELECT i.scope_id, s.memory_ref, i.seq, i.id, i.sealed, i.accepted_at
FROM inbox i
CROSS JOIN LATERAL (  -- its scope, by order: see newest
    SELECT memory_ref FROM scopes
    WHERE tenant_id = current_tenant() AND scope_id >= i.scope_id
    ORDER BY scope_id
    LIMIT 1) s
WHERE i.tenant_id = current_tenant() AND i.failed_at IS NULL
ORDER BY i.seq
LIMIT %(limit)s
FOR UPDATE OF i SKIP LOCKED

-- name: fail
UPDATE inbox SET failed_at = clock_timestamp(), reason = f.reason
FROM json_to_recordset(%(failures)s) AS f (seq bigint, reason text)
WHERE inbox.tenant_id = current_tenant() AND inbox.seq = f.seq AND inbox.scope_id = ANY (%(scopes)s)

-- name: lock_scopes
SELECT scope_id FROM scopes WHERE tenant_id = current_tenant() AND scope_id = ANY (%(scopes)s)
ORDER BY scope_id FOR NO KEY UPDATE

-- name: file
WITH given AS MATERIALIZED (
    SELECT * FROM json_to_recordset(%(entries)s) AS g (
        scope_id bigint, seq bigint, id text, content text, tags text[], kind text, confidence real,
        pinned boolean, metadata jsonb, source text, speaker text, conversation text, links jsonb,
        supersedes text[], observed_at timestamptz, created_at timestamptz, expires_at timestamptz,
        costs integer[], row_costs integer[], json_costs integer[])
), replaced AS (
    INSERT INTO supersessions (tenant_id, scope_id, old_id, new_id)
    SELECT DISTINCT current_tenant(), scope_id, old_id, id
    FROM given, unnest(supersedes) AS old_id
    WHERE old_id <> id
    ON CONFLICT DO NOTHING
), placed AS (
    SELECT n.seq, c.last + n.place AS turn
    FROM (SELECT coalesce(last_turn(current_tenant(), scope_id, conversation), 0) AS last,
                 array_agg(seq ORDER BY seq) AS seqs
          FROM given GROUP BY scope_id, conversation) c,
         unnest(c.seqs) WITH ORDINALITY AS n (seq, place)
), kept AS (
    INSERT INTO entries (
        tenant_id, scope_id, seq, id, content, tags, kind, confidence, pinned, metadata, source, speaker,
        conversation, links, supersedes, observed_at, created_at, expires_at, superseded, turn, costs,
        row_costs, json_costs)
    SELECT current_tenant(), g.scope_id, g.seq, g.id, g.content, g.tags, g.kind, g.confidence, g.pinned,
           g.metadata, g.source, g.speaker, g.conversation, g.links, g.supersedes, g.observed_at,
           g.created_at, g.expires_at,
           -- one look-up a row, whatever the planner thinks of a tenant's supersessions
           (SELECT true FROM supersessions x WHERE x.tenant_id = current_tenant()
            AND x.scope_id = g.scope_id AND x.old_id = g.id LIMIT 1) IS NOT NULL
           OR (g.scope_id, g.id) IN (SELECT n.scope_id, old_id FROM given n, unnest(n.supersedes) AS old_id
                                     WHERE old_id <> n.id),
           p.turn, g.costs, g.row_costs, g.json_costs
    FROM given g JOIN placed p USING (seq)
    ORDER BY g.seq
    RETURNING scope_id, id, seq, tags, superseded
), tagged AS (
    INSERT INTO entry_tags (tenant_id, scope_id, tag, seq, id)
    SELECT current_tenant(), scope_id, tag, seq, id FROM kept, unnest(tags) AS tag
), cleared AS (
    SELECT delete_at('inbox', ARRAY(
        SELECT i.ctid FROM kept k CROSS JOIN LATERAL (
            SELECT i.ctid FROM inbox i
            WHERE i.tenant_id = current_tenant() AND i.scope_id = k.scope_id AND i.seq = k.seq AND i.id = k.id
            OFFSET 0) i))
), told AS (
    INSERT INTO events (tenant_id, scope_id, type, ids)
    SELECT current_tenant(), scope_id, 'memory.written', array_agg(id ORDER BY seq)
    FROM kept GROUP BY scope_id
)
SELECT scope_id, seq, superseded FROM kept, cleared

-- name: supersede
UPDATE entries e SET superseded = true
FROM unnest(%(scopes)s::bigint[], %(olds)s::text[]) AS old (scope_id, id)
WHERE e.tenant_id = current_tenant() AND e.scope_id = old.scope_id AND e.id = old.id AND NOT e.superseded
RETURNING e.scope_id, e.seq

-- name: advance
UPDATE scopes s SET version = version + 1, active = active + g.added
FROM unnest(%(scopes)s::bigint[], %(added)s::bigint[]) AS g (scope_id, added)
WHERE s.tenant_id = current_tenant() AND s.scope_id = g.scope_id

-- name: summaries
SELECT s.scope_id, s.version,
       s.active - (SELECT count(*) FROM entries e
                   WHERE e.tenant_id = s.tenant_id AND e.scope_id = s.scope_id
                     AND e.expires_at <= %(now)s AND NOT e.superseded) AS live,
       ARRAY(SELECT e.expires_at FROM entries e
             WHERE e.tenant_id = s.tenant_id AND e.scope_id = s.scope_id
               AND e.expires_at > %(now)s AND NOT e.superseded
             ORDER BY e.expires_at LIMIT %(most)s) AS expiries
FROM scopes s
WHERE s.tenant_id = current_tenant() AND s.scope_id = ANY (%(scopes)s)

-- name: newest
-- No more rows than a head has room for, by their characters and the least that JSON adds to them; of a scope
-- that is wanted whole, what fills a window. A content is dearer to fetch than a cost.
SELECT e.scope_id, e.seq, e.id, e.content, e.tags, e.created_at, e.expires_at, e.costs
FROM unnest(%(scopes)s::bigint[], %(whole)s::boolean[]) AS wanted (scope_id, whole)
CROSS JOIN LATERAL (
    SELECT seq, sum(costs[3] + 70) OVER newer - costs[3] AS before, sum(costs[1]) OVER newer - costs[1] AS spent
    FROM (
        SELECT seq, costs FROM entries
        WHERE tenant_id = current_tenant() AND scope_id = wanted.scope_id AND NOT superseded
          AND (expires_at IS NULL OR expires_at > %(now)s)
        ORDER BY seq DESC
        LIMIT %(limit)s) looked
    WINDOW newer AS (ORDER BY seq DESC ROWS UNBOUNDED PRECEDING)
) placed
CROSS JOIN LATERAL (
    -- the row of this seq, asked for by order: only one index has that, whatever the planner thinks of the scope
    SELECT * FROM entries
    WHERE tenant_id = current_tenant() AND scope_id = wanted.scope_id AND seq >= placed.seq AND NOT superseded
    ORDER BY seq
    LIMIT 1) e
WHERE placed.before < %(room)s OR wanted.whole AND (%(tokens)s::bigint IS NULL OR placed.spent <= %(tokens)s)
ORDER BY e.seq DESC

-- name: sifted
-- The newest rows that are not large, and of those between two of them how many, the oldest, the least costs.
WITH small AS MATERIALIZED (
    SELECT seq
    FROM (
        SELECT seq, costs FROM entries
        WHERE tenant_id = current_tenant() AND scope_id = %(scope)s AND NOT superseded
          AND (expires_at IS NULL OR expires_at > %(now)s)
        ORDER BY seq DESC
        LIMIT %(most)s) looked
    WHERE costs[1] <= %(large)s
    ORDER BY seq DESC
    LIMIT %(limit)s
), edges AS (
    SELECT seq FROM small
    UNION ALL
    SELECT 0 WHERE %(whole)s AND (SELECT count(*) FROM small) < %(limit)s  -- large rows up to the end
), gaps AS (
    SELECT seq AS low, lag(seq, 1, 9223372036854775807) OVER (ORDER BY seq DESC) AS high FROM edges
)
SELECT large.*, e.*
FROM gaps
CROSS JOIN LATERAL (
    SELECT count(*) AS number, min(seq) AS oldest, ARRAY[{least}] AS least
    FROM entries
    WHERE tenant_id = current_tenant() AND scope_id = %(scope)s AND NOT superseded
      AND (expires_at IS NULL OR expires_at > %(now)s) AND seq < gaps.high AND seq > gaps.low) large
LEFT JOIN LATERAL (
    SELECT seq, id, content, tags, created_at, expires_at, costs FROM entries
    WHERE tenant_id = current_tenant() AND scope_id = %(scope)s AND seq = gaps.low AND NOT superseded
    OFFSET 0) e ON true
ORDER BY gaps.low DESC

-- name: lock_scope
SELECT scope_id FROM scopes WHERE tenant_id = current_tenant() AND memory_ref = %(ref)s FOR NO KEY UPDATE

-- name: find_key
SELECT hash, scopes, ref_glob FROM find_key(%(tenant)s, %(key_id)s)

-- name: accept
SELECT * FROM accept_drafts(
    ARRAY[%(ref)s]::text[], ARRAY[%(id)s]::text[], ARRAY[%(digest)s]::bytea[], ARRAY[%(sealed)s]::bytea[],
    ARRAY[NULL]::timestamptz[])
