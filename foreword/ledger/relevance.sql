-- A run of characters of a script written without spaces, or close to it: Han, kana, hangul.
CREATE OR REPLACE FUNCTION cjk()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '[\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f'
        '\U00020000-\U0003ffff]+'
$$;

-- Terms of a text: English words by stem, without stop words, and CJK runs as pairs of characters with the
-- last character alone after them, so that every character starts a term. Rows and queries go through this one
-- function. What stands behind the first 262,144 characters is not searched as words.
CREATE OR REPLACE FUNCTION lexemes(p_text text)
RETURNS TABLE (term text, tf integer)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(w.lexeme, 128), cardinality(w.positions)
    FROM unnest(to_tsvector('pg_catalog.english', regexp_replace(left(p_text, 262144), cjk(), ' ', 'g'))) AS w
    UNION ALL
    SELECT pair.term, count(*)::integer
    FROM regexp_matches(left(p_text, 262144), '(' || cjk() || ')', 'g') AS run (m)
    CROSS JOIN LATERAL (
        SELECT c.one || lead(c.one, 1, '') OVER (ORDER BY c.place) AS term
        FROM string_to_table(run.m[1], NULL) WITH ORDINALITY AS c (one, place)) pair
    GROUP BY pair.term
$$;

-- Terms of a question. A CJK character that stands alone there is whatever starts with it; the last character
-- of a longer run is left out, since its pair says more.
CREATE OR REPLACE FUNCTION asked_terms(p_question text)
RETURNS TABLE (term text, is_prefix boolean)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT given.term, given.is_prefix
    FROM (SELECT DISTINCT l.term, char_length(l.term) = 1 AND l.term ~ cjk() AS is_prefix
          FROM lexemes(p_question) l) given
    WHERE NOT given.is_prefix OR EXISTS (
        SELECT FROM regexp_matches(left(p_question, 262144), '(' || cjk() || ')', 'g') AS run (m)
        WHERE run.m[1] = given.term)
$$;

-- What of an entry is searched as words: its content without the speaker's name in front of it.
CREATE OR REPLACE FUNCTION body_of(p_content text, p_speaker text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN p_speaker IS NOT NULL AND starts_with(p_content, p_speaker || ': ')
           THEN substr(p_content, char_length(p_speaker) + 3) ELSE p_content END
$$;

-- Postings of an entry, its speaker's name under '@'. 'length' is how many words its body has, 'place' counts
-- the rows.
CREATE OR REPLACE FUNCTION postings_of(p_content text, p_speaker text)
RETURNS TABLE (term text, tf smallint, length integer, place bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT t.term, t.tf::smallint, coalesce(sum(t.tf) FILTER (WHERE t.is_word) OVER (), 0)::integer,
           row_number() OVER ()
    FROM (
        SELECT l.term, least(max(l.tf), 32767) AS tf, true AS is_word
        FROM lexemes(body_of(p_content, p_speaker)) l GROUP BY l.term
        UNION ALL
        SELECT '@' || p_speaker, 1, false WHERE p_speaker IS NOT NULL
    ) t
$$;

-- Deletes rows by where they lie, as one of the caller's look-ups in this transaction has found them. The settings
-- leave the planner no other way, since it thinks of a tenant that is new or has grown as one of hardly any rows.
CREATE OR REPLACE FUNCTION delete_at(p_table regclass, p_places tid[])
RETURNS void
LANGUAGE plpgsql
SET enable_indexscan = off SET enable_bitmapscan = off SET enable_seqscan = off AS $$
BEGIN
    EXECUTE format('DELETE FROM %s WHERE ctid = ANY ($1)', p_table) USING p_places;
END $$;

-- Keeps postings, vectors and the embedding queue true to entries, whoever changes them: words by one statement
-- for all rows of the one that fired it. A session keeps its plans, which may have been made for one row, or while
-- the tables were small; so each look-up stands alone (OFFSET 0) and names a whole key.
CREATE OR REPLACE FUNCTION index_entries()
RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    v_scopes bigint[];  -- of an UPDATE, the rows whose words come, go or change; null where that is every row
    v_ids text[];
    v_emptied bigint[] := '{}';  -- scopes without a live entry, whose postings go as a whole
    v_change record;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        FOR v_change IN
            SELECT c.*, m.model_id
            FROM (SELECT tenant_id, scope_id, seq, id, costs FROM fresh
                  EXCEPT SELECT tenant_id, scope_id, seq, id, costs FROM gone) c
            CROSS JOIN embedding_models m
        LOOP
            UPDATE vectors SET costs = v_change.costs
            WHERE tenant_id = v_change.tenant_id AND scope_id = v_change.scope_id AND model_id = v_change.model_id
              AND seq = v_change.seq AND id = v_change.id;
        END LOOP;
        SELECT array_agg(c.scope_id), array_agg(c.id) INTO v_scopes, v_ids
        FROM (SELECT scope_id, id, superseded, content, speaker FROM gone
              EXCEPT SELECT scope_id, id, superseded, content, speaker FROM fresh) c;
        IF v_ids IS NULL THEN RETURN NULL; END IF;
        FOR v_change IN
            SELECT g.tenant_id, g.scope_id, g.seq, g.id, m.model_id FROM gone g CROSS JOIN embedding_models m
            WHERE (g.scope_id, g.id) IN (SELECT * FROM unnest(v_scopes, v_ids))
        LOOP
            DELETE FROM vectors
            WHERE tenant_id = v_change.tenant_id AND scope_id = v_change.scope_id AND model_id = v_change.model_id
              AND seq = v_change.seq AND id = v_change.id;
            DELETE FROM unembedded
            WHERE tenant_id = v_change.tenant_id AND model_id = v_change.model_id AND scope_id = v_change.scope_id
              AND id = v_change.id;
        END LOOP;
    END IF;
    IF TG_OP = 'DELETE' THEN
        FOR v_change IN
            SELECT g.tenant_id, g.scope_id
            FROM (SELECT tenant_id, scope_id, count(*) AS n FROM gone
                  WHERE NOT superseded GROUP BY tenant_id, scope_id) g
            CROSS JOIN LATERAL (
                SELECT s.documents FROM scopes s
                WHERE s.tenant_id = g.tenant_id AND s.scope_id = g.scope_id OFFSET 0) s
            WHERE CASE WHEN g.n >= s.documents THEN (
                SELECT true FROM entries e
                WHERE e.tenant_id = g.tenant_id AND e.scope_id = g.scope_id AND NOT e.superseded LIMIT 1) IS NULL END
        LOOP
            DELETE FROM postings WHERE tenant_id = v_change.tenant_id AND scope_id = v_change.scope_id;
            UPDATE scopes SET documents = 0, terms = 0
            WHERE tenant_id = v_change.tenant_id AND scope_id = v_change.scope_id;
            v_emptied := v_emptied || v_change.scope_id;
        END LOOP;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        FOR v_change IN
            SELECT g.tenant_id, g.scope_id, array_agg(p.ctid) AS places,
                   count(*) FILTER (WHERE t.place = 1) AS documents,
                   coalesce(sum(t.length) FILTER (WHERE t.place = 1), 0) AS terms
            FROM gone g CROSS JOIN LATERAL postings_of(g.content, g.speaker) t CROSS JOIN LATERAL (
                SELECT p.ctid FROM postings p
                WHERE p.tenant_id = g.tenant_id AND p.scope_id = g.scope_id AND p.term = t.term AND p.seq = g.seq
                OFFSET 0) p
            WHERE NOT g.superseded AND g.scope_id <> ALL (v_emptied)
              AND (v_ids IS NULL OR (g.scope_id, g.id) IN (SELECT * FROM unnest(v_scopes, v_ids)))
            GROUP BY g.tenant_id, g.scope_id
        LOOP
            PERFORM delete_at('postings', v_change.places);
            UPDATE scopes SET documents = documents - v_change.documents, terms = terms - v_change.terms
            WHERE tenant_id = v_change.tenant_id AND scope_id = v_change.scope_id;
        END LOOP;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        FOR v_change IN
            WITH words AS MATERIALIZED (
                SELECT f.tenant_id, f.scope_id, f.seq, t.*
                FROM fresh f CROSS JOIN LATERAL postings_of(f.content, f.speaker) t
                WHERE NOT f.superseded
                  AND (v_ids IS NULL OR (f.scope_id, f.id) IN (SELECT * FROM unnest(v_scopes, v_ids)))
            ), added AS (
                INSERT INTO postings (tenant_id, scope_id, term, seq, tf, length)
                SELECT tenant_id, scope_id, term, seq, tf, length FROM words w
                WHERE v_ids IS NULL  -- else a word may be there that another stemmer took out of the old text
                   OR (SELECT true FROM postings p
                       WHERE p.tenant_id = w.tenant_id AND p.scope_id = w.scope_id AND p.term = w.term
                         AND p.seq = w.seq LIMIT 1) IS NULL
                ORDER BY scope_id, term COLLATE "C", seq  -- as the index lies
            )
            SELECT tenant_id, scope_id, count(*) AS documents, sum(length) AS terms
            FROM words WHERE place = 1 GROUP BY tenant_id, scope_id
        LOOP
            UPDATE scopes SET documents = documents + v_change.documents, terms = terms + v_change.terms
            WHERE tenant_id = v_change.tenant_id AND scope_id = v_change.scope_id;
        END LOOP;
        INSERT INTO unembedded (tenant_id, scope_id, id, model_id)
        SELECT f.tenant_id, f.scope_id, f.id, m.model_id
        FROM fresh f, embedding_models m
        WHERE NOT f.superseded AND m.state <> 'retired'
          AND (v_ids IS NULL OR (f.scope_id, f.id) IN (SELECT * FROM unnest(v_scopes, v_ids)))
        ON CONFLICT (tenant_id, model_id, scope_id, id) DO UPDATE SET failures = 0, queued_at = now();
    END IF;
    RETURN NULL;
END $$;

-- The turn that a conversation has come to, or a scope among what belongs to none; null before the first.
-- Two queries, since each finds it at the end of the index; the settings keep other plans away.
CREATE OR REPLACE FUNCTION last_turn(p_tenant integer, p_scope bigint, p_conversation text)
RETURNS integer
LANGUAGE plpgsql STABLE
SET enable_sort = off SET enable_seqscan = off AS $$
BEGIN
    IF p_conversation IS NULL THEN
        RETURN (
            SELECT e.turn FROM entries e
            WHERE e.tenant_id = p_tenant AND e.scope_id = p_scope AND e.conversation IS NULL
              AND e.turn IS NOT NULL
            ORDER BY e.conversation DESC, e.turn DESC LIMIT 1);
    END IF;
    RETURN (
        SELECT e.turn FROM entries e
        WHERE e.tenant_id = p_tenant AND e.scope_id = p_scope AND e.conversation = p_conversation
          AND e.turn IS NOT NULL
        ORDER BY e.conversation DESC, e.turn DESC LIMIT 1);
END $$;

-- Numbers what is put in without a turn; the drain numbers its batch itself, a conversation at a time.
CREATE OR REPLACE FUNCTION number_turn()
RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    NEW.turn := coalesce(last_turn(NEW.tenant_id, NEW.scope_id, NEW.conversation), 0) + 1;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER entries_turn BEFORE INSERT ON entries
    FOR EACH ROW WHEN (NEW.turn IS NULL) EXECUTE FUNCTION number_turn();
CREATE OR REPLACE TRIGGER entries_added AFTER INSERT ON entries
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION index_entries();
CREATE OR REPLACE TRIGGER entries_changed AFTER UPDATE ON entries
    REFERENCING OLD TABLE AS gone NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION index_entries();
CREATE OR REPLACE TRIGGER entries_removed AFTER DELETE ON entries
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION index_entries();

-- The budget law over costs in rank order (foreword.budget.walk is the same law). Positions start at 1.
CREATE OR REPLACE FUNCTION cut_ranked(
    p_costs integer[], p_budget bigint, p_limit integer, p_fit text, p_walk integer,
    OUT kept integer[], OUT used bigint, OUT visited bigint, OUT oversize bigint, OUT ended text,
    OUT smallest_omitted bigint
)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    cost integer;
BEGIN
    kept := '{}'; used := 0; visited := 0; oversize := 0; ended := 'end';
    FOREACH cost IN ARRAY coalesce(p_costs, '{}') LOOP
        IF cardinality(kept) = p_limit THEN ended := 'limit'; EXIT; END IF;
        IF p_fit = 'pack' AND visited = p_walk THEN ended := 'walk'; EXIT; END IF;
        IF p_budget IS NULL OR used + cost <= p_budget THEN
            kept := kept || (visited + 1)::integer;
            used := used + cost;
        ELSE
            smallest_omitted := least(smallest_omitted, cost);
            IF cost > p_budget THEN
                oversize := oversize + 1;
                IF p_fit = 'strict' THEN ended := 'budget'; visited := visited + 1; EXIT; END IF;
            ELSIF p_fit <> 'pack' THEN
                ended := 'budget'; EXIT;
            END IF;
        END IF;
        visited := visited + 1;
    END LOOP;
END $$;

-- Who speaks in a scope, by hopping over the index from name to name; at most 200.
CREATE OR REPLACE FUNCTION speakers_of(p_scope bigint)
RETURNS SETOF text
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE hop AS (
        SELECT (SELECT min(p.term) FROM postings p WHERE p.tenant_id = current_tenant()
                AND p.scope_id = p_scope AND p.term >= '@' AND p.term < 'A') AS term
        UNION ALL
        SELECT (SELECT min(p.term) FROM postings p WHERE p.tenant_id = current_tenant()
                AND p.scope_id = p_scope AND p.term > hop.term AND p.term < 'A')
        FROM hop WHERE hop.term IS NOT NULL
    )
    SELECT substr(term, 2) FROM hop WHERE term IS NOT NULL LIMIT 200
$$;

-- Whether a walk over a model's graph is quicker than a look at each of a large scope's rows: it meets the rows
-- of all scopes, and a row met costs ten times as much as a row looked at. 200 rows of the scope are wanted; how
-- many rows there are in the graph, the last ANALYZE knows.
CREATE OR REPLACE FUNCTION graph_pays(p_rows bigint, p_model smallint)
RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT g.rows IS NULL OR g.rows <= p_rows OR p_rows::double precision ^ 2 >= 10 * 200 * g.rows
    FROM (SELECT (SELECT reltuples FROM pg_class WHERE oid = to_regclass('vectors_graph_' || p_model)) AS rows) g
$$;

-- BM25 (k1 1.2, b .75, IDF of the scope) of the question's words over bodies. 'mass' is the question's whole
-- IDF, unseen words counting as the rarest.
CREATE OR REPLACE FUNCTION score_words(p_scope bigint, p_question text)
RETURNS TABLE (seq bigint, score double precision, mass double precision)
LANGUAGE sql STABLE AS $$
    WITH words AS MATERIALIZED (
        SELECT t.term, t.is_prefix FROM asked_terms(p_question) t
    ), size AS MATERIALIZED (
        SELECT greatest(s.documents, 1)::double precision AS n,
               greatest(s.terms::double precision / greatest(s.documents, 1), 1) AS average
        FROM scopes s WHERE s.tenant_id = current_tenant() AND s.scope_id = p_scope
    ), hits AS MATERIALIZED (
        SELECT w.term, p.seq, p.tf::bigint, p.length
        FROM words w CROSS JOIN LATERAL (  -- word by word, however small statistics take the scope to be
            SELECT p.seq, p.tf, p.length FROM postings p
            WHERE p.tenant_id = current_tenant() AND p.scope_id = p_scope AND p.term = w.term
            OFFSET 0) p
        WHERE NOT w.is_prefix
        UNION ALL
        SELECT w.term, p.seq, p.tf, p.length
        FROM words w CROSS JOIN LATERAL (
            SELECT p.seq, sum(p.tf) AS tf, max(p.length) AS length FROM postings p
            WHERE p.tenant_id = current_tenant() AND p.scope_id = p_scope
              AND p.term >= w.term AND p.term <= w.term || U&'\+10FFFF'
            GROUP BY p.seq) p
        WHERE w.is_prefix
    ), weights AS MATERIALIZED (
        SELECT w.term, ln(1 + (size.n - count(h.seq) + 0.5) / (count(h.seq) + 0.5)) AS idf
        FROM size, words w LEFT JOIN hits h USING (term) GROUP BY w.term, size.n
    )
    SELECT h.seq,
           sum(x.idf * h.tf * 2.2 / (h.tf + 1.2 * (0.25 + 0.75 * h.length / size.average))),
           (SELECT sum(idf) FROM weights)
    FROM hits h JOIN weights x USING (term), size
    GROUP BY h.seq
$$;

-- Registers an embedding model and queues every entry for it; its number. Runs as the definer, since it visits
-- every tenant; gives away nothing.
CREATE OR REPLACE FUNCTION register_model(p_name text, p_dimension integer)
RETURNS smallint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
    v_model smallint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('embedding_models'));
    SELECT model_id INTO v_model FROM embedding_models WHERE name = p_name AND state <> 'retired';
    IF FOUND THEN RETURN v_model; END IF;
    LOCK TABLE entries IN SHARE MODE;  -- what is filed now is queued below, what is filed later knows the model
    INSERT INTO embedding_models (name, dimension, distance, state)
    VALUES (p_name, p_dimension, 'cosine',
            CASE WHEN EXISTS (SELECT FROM embedding_models WHERE state = 'serving')
            THEN 'building' ELSE 'serving' END)
    ON CONFLICT (name) DO UPDATE SET state = excluded.state
    RETURNING model_id INTO v_model;
    EXECUTE format(
        'CREATE INDEX IF NOT EXISTS vectors_graph_%s ON vectors USING hnsw '
        '((embedding::halfvec(%s)) halfvec_cosine_ops) WHERE in_graph AND model_id = %s',
        v_model, p_dimension, v_model);
    INSERT INTO unembedded (tenant_id, scope_id, id, model_id)
    SELECT e.tenant_id, e.scope_id, e.id, v_model FROM entries e WHERE NOT e.superseded
    ON CONFLICT DO NOTHING;
    RETURN v_model;
END $$;

-- Lets a complete model serve in place of the one before, whose vectors go.
CREATE OR REPLACE FUNCTION serve_model(p_model smallint)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('embedding_models'));
    UPDATE embedding_models SET state = 'retired' WHERE state = 'serving' AND model_id <> p_model;
    UPDATE embedding_models SET state = 'serving' WHERE model_id = p_model;
    DELETE FROM vectors v USING embedding_models m WHERE m.model_id = v.model_id AND m.state = 'retired';
    DELETE FROM unembedded u USING embedding_models m WHERE m.model_id = u.model_id AND m.state = 'retired';
END $$;

-- Tenants with entries that wait for a vector of this model, and how many. Gives away: counts.
CREATE OR REPLACE FUNCTION tenants_unembedded(p_model smallint)
RETURNS TABLE (tenant_id integer, waiting bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
    SELECT u.tenant_id, count(*) FROM unembedded u
    WHERE u.model_id = p_model AND u.failures < 5 GROUP BY u.tenant_id ORDER BY u.tenant_id
$$;

-- Tenants with a scope that is too large for exact scans and not in the graph yet. Gives away: tenant numbers.
CREATE OR REPLACE FUNCTION tenants_outgrown(p_most bigint, p_model smallint)
RETURNS TABLE (tenant_id integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
    SELECT DISTINCT s.tenant_id FROM scopes s
    WHERE NOT s.in_graph AND s.documents > p_most AND graph_pays(s.documents, p_model) ORDER BY 1
$$;

-- Entries without a vector of the model that serves, all tenants together: those that wait, those that were set
-- aside, how long the oldest of the first has waited. Gives away: two totals and an age.
CREATE OR REPLACE FUNCTION embedding_backlog()
RETURNS TABLE (waiting bigint, failed bigint, oldest_seconds double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
    SELECT count(*) FILTER (WHERE u.failures < 5), count(*) FILTER (WHERE u.failures >= 5),
           greatest(coalesce(extract(
               epoch FROM clock_timestamp() - min(u.queued_at) FILTER (WHERE u.failures < 5)), 0), 0)
    FROM unembedded u JOIN embedding_models m USING (model_id) WHERE m.state = 'serving'
$$;

-- What was filed by a version without relevance gets its turns and postings.
DO $$
BEGIN
    UPDATE entries e SET turn = n.turn
    FROM (
        SELECT o.tenant_id, o.scope_id, o.seq,
               row_number() OVER (PARTITION BY o.tenant_id, o.scope_id, o.conversation ORDER BY o.seq) AS turn
        FROM entries o JOIN scopes s USING (tenant_id, scope_id)
        WHERE s.active > 0 AND s.documents = 0
    ) n
    WHERE e.tenant_id = n.tenant_id AND e.scope_id = n.scope_id AND e.seq = n.seq AND e.turn IS NULL;
    WITH words AS MATERIALIZED (
        SELECT e.tenant_id, e.scope_id, e.seq, t.*
        FROM entries e JOIN scopes s USING (tenant_id, scope_id)
        CROSS JOIN LATERAL postings_of(e.content, e.speaker) t
        WHERE s.active > 0 AND s.documents = 0 AND NOT e.superseded
    ), added AS (
        INSERT INTO postings (tenant_id, scope_id, term, seq, tf, length)
        SELECT tenant_id, scope_id, term, seq, tf, length FROM words
        ORDER BY tenant_id, scope_id, term COLLATE "C", seq
    )
    UPDATE scopes s SET documents = c.documents, terms = c.terms
    FROM (SELECT tenant_id, scope_id, count(*) AS documents, sum(length) AS terms
          FROM words WHERE place = 1 GROUP BY tenant_id, scope_id) c
    WHERE s.tenant_id = c.tenant_id AND s.scope_id = c.scope_id;
END $$;
