-- Rankings of one scope. Every statement below is one round trip: a leg ranks, the law cuts from stored costs,
-- and only what is kept is fetched. {filter} is a compiled condition over ``entries e``, {join} brings e in
-- where a leg needs it, {vector} is a model's expression that its graph index knows.

-- name: cut
, gathered AS (
    SELECT array_agg(seq ORDER BY place) AS seqs, array_agg(cost ORDER BY place) AS costs,
           array_agg(score ORDER BY place) AS scores, array_agg(similarity ORDER BY place) AS similarities
    FROM (SELECT *, row_number() OVER (ORDER BY score DESC, seq DESC) AS place FROM ranked) placed
), cut AS MATERIALIZED (
    SELECT c.*, g.seqs, g.scores, g.similarities, (SELECT looked_at FROM totals) AS looked_at,
           (SELECT offered FROM totals) AS offered
    FROM gathered g, cut_ranked(g.costs, %(budget)s, %(limit)s, %(fit)s, %(walk)s) c
)
SELECT cut.used, cut.visited, cut.oversize, cut.ended, cut.smallest_omitted, cut.looked_at, cut.offered,
       cut.scores[k.place] AS score, cut.similarities[k.place] AS similarity, e.*
FROM cut
LEFT JOIN LATERAL unnest(cut.kept) WITH ORDINALITY AS k (place, nth) ON true
LEFT JOIN entries e ON e.tenant_id = current_tenant() AND e.scope_id = (SELECT scope_id FROM scope)
    AND e.seq = cut.seqs[k.place] AND NOT e.superseded
ORDER BY k.nth

-- name: scope
WITH scope AS MATERIALIZED (
    SELECT scope_id, in_graph, documents FROM scopes
    WHERE tenant_id = current_tenant() AND memory_ref = %(ref)s
)

-- name: semantic_exact
, near AS MATERIALIZED (
    SELECT v.seq, v.costs[%(ordinal)s + 1] AS cost, 1 - (v.embedding <=> %(vector)s::halfvec) AS similarity
    FROM scope s
    JOIN vectors v ON v.tenant_id = current_tenant() AND v.scope_id = s.scope_id AND v.model_id = %(model)s
    {join}
    WHERE (v.expires_at IS NULL OR v.expires_at > %(now)s) AND {filter}
), ranked AS MATERIALIZED (
    SELECT seq, cost, similarity AS score, similarity FROM near
    WHERE similarity >= %(floor)s ORDER BY similarity DESC, seq DESC LIMIT %(most)s
), totals AS MATERIALIZED (
    SELECT count(*) AS looked_at, count(*) FILTER (WHERE similarity >= %(floor)s) AS offered FROM near
)

-- name: semantic_graph
, near AS MATERIALIZED (
    SELECT v.seq, v.costs[%(ordinal)s + 1] AS cost, 1 - ({vector} <=> %(vector)s::{type}) AS similarity
    FROM vectors v {join}
    WHERE v.tenant_id = current_tenant() AND v.scope_id = %(scope)s AND v.model_id = {model} AND v.in_graph
      AND (v.expires_at IS NULL OR v.expires_at > %(now)s) AND {filter}
    ORDER BY {vector} <=> %(vector)s::{type}
    LIMIT %(most)s
), ranked AS MATERIALIZED (
    SELECT seq, cost, similarity AS score, similarity FROM near WHERE similarity >= %(floor)s
), totals AS MATERIALIZED (
    SELECT greatest((SELECT documents FROM scope), count(*)) AS looked_at,
           CASE WHEN count(*) FILTER (WHERE similarity < %(floor)s) > 0
                THEN count(*) FILTER (WHERE similarity >= %(floor)s)
                ELSE greatest((SELECT documents FROM scope), count(*)) END AS offered
    FROM near
)

-- name: lexical
, hits AS MATERIALIZED (
    SELECT w.seq, e.costs[%(ordinal)s + 1] AS cost, w.score
    FROM scope s
    CROSS JOIN LATERAL score_words(s.scope_id, %(words)s) w
    JOIN entries e ON e.tenant_id = current_tenant() AND e.scope_id = s.scope_id AND e.seq = w.seq
    WHERE NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > %(now)s) AND {filter}
), ranked AS MATERIALIZED (
    SELECT seq, cost, score, NULL::double precision AS similarity FROM hits
    ORDER BY score DESC, seq DESC LIMIT %(most)s
), totals AS MATERIALIZED (
    SELECT count(*) AS looked_at, count(*) AS offered FROM hits
)

-- name: filter
, hits AS MATERIALIZED (
    SELECT e.seq, e.costs[%(ordinal)s + 1] AS cost
    FROM scope s
    JOIN entries e ON e.tenant_id = current_tenant() AND e.scope_id = s.scope_id
    WHERE NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > %(now)s) AND {filter}
), ranked AS MATERIALIZED (
    SELECT seq, cost, seq::double precision AS score, NULL::double precision AS similarity FROM hits
    ORDER BY seq DESC LIMIT %(most)s
), totals AS MATERIALIZED (
    SELECT count(*) AS looked_at, count(*) AS offered FROM hits
)

-- name: shape
SELECT s.scope_id, s.in_graph, s.documents,
       (SELECT model_id FROM embedding_models m WHERE m.state = 'serving' AND m.name = %(name)s) AS model,
       CASE WHEN %(speakers)s THEN ARRAY(SELECT speakers_of(s.scope_id)) ELSE '{{}}' END AS speakers
FROM scopes s WHERE s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s

-- name: candidates
WITH words AS MATERIALIZED (
    SELECT * FROM score_words(%(scope)s, %(words)s)
), dense AS MATERIALIZED (
    SELECT v.seq FROM vectors v {join}
    WHERE v.tenant_id = current_tenant() AND v.scope_id = %(scope)s AND v.model_id = {model} {in_graph}
      AND (v.expires_at IS NULL OR v.expires_at > %(now)s) AND {filter}
      AND %(vector)s::text IS NOT NULL AND 1 - ({vector} <=> %(vector)s::{type}) >= %(floor)s
    ORDER BY {vector} <=> %(vector)s::{type}
    LIMIT %(most)s
), hits AS MATERIALIZED (
    SELECT seq FROM dense
    UNION
    (SELECT seq FROM words ORDER BY score DESC, seq DESC LIMIT %(most)s)
), around AS MATERIALIZED (
    SELECT n.seq
    FROM (SELECT seq FROM hits LIMIT %(around)s) h
    JOIN entries c ON c.tenant_id = current_tenant() AND c.scope_id = %(scope)s AND c.seq = h.seq
        AND NOT c.superseded AND c.conversation IS NOT NULL
    JOIN entries n ON n.tenant_id = current_tenant() AND n.scope_id = %(scope)s
        AND n.conversation = c.conversation AND n.turn BETWEEN c.turn - 4 AND c.turn + 4
), wanted AS MATERIALIZED (
    SELECT seq FROM hits UNION SELECT seq FROM around
)
SELECT e.seq, e.id, 1 - (v.embedding <=> %(vector)s::halfvec) AS cosine, coalesce(w.score, 0) AS words,
       (SELECT max(mass) FROM words) AS mass, e.speaker, e.conversation, e.turn, e.observed_at,
       e.costs[%(ordinal)s + 1] AS cost, e.row_costs[%(ordinal)s + 1] AS row_cost
FROM wanted
JOIN entries e ON e.tenant_id = current_tenant() AND e.scope_id = %(scope)s AND e.seq = wanted.seq
LEFT JOIN vectors v ON v.tenant_id = current_tenant() AND v.scope_id = %(scope)s AND v.model_id = {model}
    AND v.seq = e.seq
LEFT JOIN words w ON w.seq = e.seq
WHERE NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > %(now)s) AND {filter}

-- name: contents
SELECT e.*, CASE WHEN e.seq = ANY (%(compared)s::bigint[]) THEN v.embedding::text END AS embedding
FROM entries e
LEFT JOIN vectors v ON v.tenant_id = e.tenant_id AND v.scope_id = e.scope_id AND v.model_id = %(model)s
    AND v.seq = e.seq
WHERE e.tenant_id = current_tenant() AND e.scope_id = %(scope)s AND e.seq = ANY (%(seqs)s::bigint[])
  AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
