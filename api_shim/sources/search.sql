-- Rankings of one scope. Every statement below is one round trip: a leg ranks, the law cuts from stored costs,
-- and only what is kept is fetched. {filter} is a compiled condition over ``entries e``, {join} brings e in
-- where a leg needs it, {vector} is a model's expression that its graph index knows. {universe} counts the live
-- rows that the filter lets through: what a leg does not offer of these is told as left out for unlikeness.

-- name: cut
, gathered AS (
    SELECT array_agg(seq) AS seqs, array_agg(cost) AS costs, array_agg(score) AS scores,
           array_agg(similarity) AS similarities
    FROM (SELECT * FROM ranked ORDER BY score DESC, seq DESC) placed
), cut AS MATERIALIZED (
    SELECT c.*, g.seqs, g.scores, g.similarities, t.looked_at, t.offered, t.seen
    FROM totals t, gathered g, cut_ranked(g.costs, %(budget)s, %(limit)s, %(fit)s, %(walk)s) c
)
SELECT cut.used, cut.visited, cut.oversize, cut.ended, cut.smallest_omitted, cut.looked_at, cut.offered,
       cut.seen, cut.scores[k.place] AS score, cut.similarities[k.place] AS similarity, e.*
FROM cut
LEFT JOIN LATERAL unnest(cut.kept) WITH ORDINALITY AS k (place, nth) ON true
LEFT JOIN entries e ON e.tenant_id = current_tenant() AND e.scope_id = (SELECT scope_id FROM scope)
    AND e.seq = cut.seqs[k.place] AND NOT e.superseded
ORDER BY k.nth

-- name: scope
WITH scope AS MATERIALIZED (
    SELECT s.scope_id, s.in_graph, s.active - (
        SELECT count(*) FROM entries e WHERE e.tenant_id = s.tenant_id AND e.scope_id = s.scope_id
        AND e.expires_at <= %(now)s AND NOT e.superseded) AS live
    FROM scopes s WHERE s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s
), universe AS MATERIALIZED (
    SELECT {universe} AS n FROM scope s
)

-- name: universe_open
s.live

-- name: universe_filtered
CASE WHEN s.in_graph THEN 0 ELSE (
    SELECT count(*) FROM entries e WHERE e.tenant_id = current_tenant() AND e.scope_id = s.scope_id
    AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > %(now)s) AND {filter}) END

-- name: semantic_exact
, near AS MATERIALIZED (
    SELECT v.seq, v.costs, 1 - (v.embedding <=> %(vector)s::halfvec) AS similarity
    FROM scope s
    JOIN vectors v ON v.tenant_id = current_tenant() AND v.scope_id = s.scope_id AND v.model_id = %(model)s
    {join}
    WHERE (v.expires_at IS NULL OR v.expires_at > %(now)s) AND {filter}
), ranked AS MATERIALIZED (
    SELECT seq, costs[%(ordinal)s + 1] AS cost, similarity AS score, similarity FROM near
    WHERE similarity >= %(floor)s ORDER BY similarity DESC, seq DESC LIMIT %(most)s
), totals AS MATERIALIZED (
    SELECT greatest(count(*), (SELECT n FROM universe)) AS looked_at, count(*) AS seen,
           count(*) FILTER (WHERE similarity >= %(floor)s) AS offered
    FROM near
)

-- name: semantic_nearest
, near AS MATERIALIZED (
    SELECT v.seq, v.costs, v.embedding <=> %(vector)s::halfvec AS distance
    FROM vectors v
    WHERE v.tenant_id = current_tenant() AND v.scope_id = %(scope)s AND v.model_id = %(model)s
      AND (v.expires_at IS NULL OR v.expires_at > %(now)s)
    ORDER BY distance, v.seq DESC
    LIMIT %(most)s
), ranked AS (
    SELECT seq, costs[%(ordinal)s + 1] AS cost, 1 - distance AS score, 1 - distance AS similarity FROM near
), totals AS (
    SELECT greatest(n.seen, (SELECT n FROM universe)) AS looked_at, n.seen,
           CASE WHEN n.seen < %(most)s THEN n.seen
                ELSE greatest(n.seen, (SELECT n FROM universe) - (
                    SELECT count(*) FROM unembedded u JOIN entries e USING (tenant_id, scope_id, id)
                    WHERE u.tenant_id = current_tenant() AND u.scope_id = %(scope)s
                      AND u.model_id = %(model)s AND NOT e.superseded
                      AND (e.expires_at IS NULL OR e.expires_at > %(now)s))) END AS offered
    FROM (SELECT count(*) AS seen FROM near) n
)

-- name: semantic_graph
, near AS MATERIALIZED (
    SELECT v.seq, v.costs, 1 - ({vector} <=> %(vector)s::{type}) AS similarity
    FROM vectors v {join}
    WHERE v.tenant_id = current_tenant() AND v.scope_id = %(scope)s AND v.model_id = {model} AND v.in_graph
      AND (v.expires_at IS NULL OR v.expires_at > %(now)s) AND {filter}
    ORDER BY {vector} <=> %(vector)s::{type}
    LIMIT %(most)s
), ranked AS (
    SELECT seq, costs[%(ordinal)s + 1] AS cost, similarity AS score, similarity FROM near
    WHERE similarity >= %(floor)s
), totals AS MATERIALIZED (
    SELECT greatest(count(*), (SELECT n FROM universe)) AS looked_at, count(*) AS seen,
           CASE WHEN count(*) < %(most)s OR count(*) FILTER (WHERE similarity < %(floor)s) > 0
                THEN count(*) FILTER (WHERE similarity >= %(floor)s)
                ELSE greatest(count(*), (SELECT n FROM universe)) END AS offered
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
    SELECT greatest(count(*), (SELECT n FROM universe)) AS looked_at, count(*) AS offered, count(*) AS seen
    FROM hits
)

-- name: filter
, hits AS MATERIALIZED (
    SELECT e.seq, e.costs[%(ordinal)s + 1] AS cost
    FROM scope s
    JOIN entries e ON e.tenant_id = current_tenant() AND e.scope_id = s.scope_id
    WHERE NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > %(now)s) AND {filter}
), ranked AS MATERIALIZED (
    SELECT seq, cost, 0::double precision AS score, NULL::double precision AS similarity FROM hits
    ORDER BY seq DESC LIMIT %(most)s
), totals AS MATERIALIZED (
    SELECT count(*) AS looked_at, count(*) AS offered, count(*) AS seen FROM hits
)

-- name: shape
SELECT coalesce(s.scope_id, 0) AS scope_id, m.model,
       coalesce(s.in_graph AND graph_pays(s.documents, m.model), false) AS in_graph,
       coalesce(s.documents, 0) AS documents,
       CASE WHEN %(speakers)s THEN ARRAY(SELECT speakers_of(s.scope_id)) ELSE '{{}}' END AS speakers
FROM (SELECT (SELECT model_id FROM embedding_models WHERE state = 'serving' AND name = %(name)s) AS model) m
LEFT JOIN scopes s ON s.tenant_id = current_tenant() AND s.memory_ref = %(ref)s

-- name: candidates
, words AS MATERIALIZED (
    SELECT * FROM score_words(%(scope)s, %(words)s)
), near AS MATERIALIZED (
    SELECT v.seq, {vector} <=> %(vector)s::{type} AS distance
    FROM vectors v {join}
    WHERE v.tenant_id = current_tenant() AND v.scope_id = %(scope)s AND v.model_id = {model} {in_graph}
      AND (v.expires_at IS NULL OR v.expires_at > %(now)s) AND {filter} AND %(vector)s::text IS NOT NULL
    ORDER BY distance
    LIMIT %(most)s
), said AS MATERIALIZED (
    SELECT p.seq, coalesce(words.score, 0) AS score
    FROM postings p LEFT JOIN words USING (seq)
    WHERE p.tenant_id = current_tenant() AND p.scope_id = %(scope)s AND p.term = '@' || %(speaker)s
      AND (%(whole)s OR words.seq IS NOT NULL)
), placed AS MATERIALIZED (
    SELECT seq, row_number() OVER (ORDER BY distance, seq DESC) AS place
    FROM near WHERE 1 - distance >= %(floor)s
    UNION ALL
    (SELECT w.seq, row_number() OVER (ORDER BY w.score DESC, w.seq DESC) AS place
     FROM said w {join_words} WHERE {filter} ORDER BY place LIMIT %(most)s)
    UNION ALL
    (SELECT w.seq, row_number() OVER (ORDER BY w.score DESC, w.seq DESC) AS place
     FROM words w {join_words} WHERE {filter} ORDER BY place LIMIT %(most)s)
), hits AS MATERIALIZED (
    SELECT seq, min(place) AS place FROM placed GROUP BY seq
), held AS MATERIALIZED (
    SELECT h.place, e.*
    FROM hits h CROSS JOIN LATERAL (
        SELECT e.seq, e.id, e.speaker, e.conversation, e.turn, e.observed_at,
               e.{costs}[%(ordinal)s + 1] AS cost
        FROM entries e
        WHERE e.tenant_id = current_tenant() AND e.scope_id = %(scope)s AND e.seq = h.seq
          AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > %(now)s) AND {filter}
        OFFSET 0) e
), turns AS MATERIALIZED (
    SELECT DISTINCT c.conversation, t.turn
    FROM (SELECT * FROM held ORDER BY place, seq DESC LIMIT %(around)s) c,
         generate_series(c.turn - 4, c.turn + 4) AS t (turn)
    WHERE c.conversation IS NOT NULL OR c.speaker IS NOT NULL
), beside AS (
    SELECT n.* FROM turns t CROSS JOIN LATERAL (
        SELECT e.seq, e.id, e.speaker, e.conversation, e.turn, e.observed_at,
               e.{costs}[%(ordinal)s + 1] AS cost
        FROM entries e
        WHERE e.tenant_id = current_tenant() AND e.scope_id = %(scope)s
          AND e.conversation = t.conversation AND e.turn = t.turn
          AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > %(now)s) AND {filter}
        OFFSET 0) n
    WHERE t.conversation IS NOT NULL
    UNION ALL
    SELECT n.* FROM turns t CROSS JOIN LATERAL (
        SELECT e.seq, e.id, e.speaker, e.conversation, e.turn, e.observed_at,
               e.{costs}[%(ordinal)s + 1] AS cost
        FROM entries e
        WHERE e.tenant_id = current_tenant() AND e.scope_id = %(scope)s
          AND e.conversation IS NULL AND e.turn = t.turn AND e.speaker IS NOT NULL
          AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > %(now)s) AND {filter}
        OFFSET 0) n
    WHERE t.conversation IS NULL
), wanted AS (
    SELECT seq, id, speaker, conversation, turn, observed_at, cost FROM held
    UNION ALL
    SELECT * FROM beside b WHERE NOT EXISTS (SELECT FROM held h WHERE h.seq = b.seq)
), found AS MATERIALIZED (
    SELECT wanted.*, coalesce(1 - near.distance, v.cosine) AS cosine, coalesce(words.score, 0) AS words
    FROM wanted LEFT JOIN near USING (seq) LEFT JOIN words USING (seq)
    LEFT JOIN LATERAL (
        SELECT 1 - (v.embedding <=> %(vector)s::halfvec) AS cosine FROM vectors v
        WHERE v.tenant_id = current_tenant() AND v.scope_id = %(scope)s AND v.model_id = {model}
          AND v.seq = wanted.seq AND near.seq IS NULL
        OFFSET 0) v ON true
)
SELECT (SELECT max(mass) FROM words) AS mass, (SELECT count(*) FROM near) AS seen,
       coalesce((SELECT n FROM universe), 0) AS universe, found.*
FROM (SELECT) AS one LEFT JOIN found ON true
ORDER BY found.seq DESC

-- name: contents
SELECT e.*, CASE WHEN e.seq = ANY (%(compared)s::bigint[]) THEN v.embedding::text END AS embedding
FROM entries e
LEFT JOIN vectors v ON v.tenant_id = e.tenant_id AND v.scope_id = e.scope_id AND v.model_id = %(model)s
    AND v.seq = e.seq
WHERE e.tenant_id = current_tenant() AND e.scope_id = %(scope)s AND e.seq = ANY (%(seqs)s::bigint[])
  AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > %(now)s)
