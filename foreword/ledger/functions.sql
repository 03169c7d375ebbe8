-- The ledger's functions. Applied anew by every migrate, so that there is one copy of each.
--
-- Those that must see across tenants are SECURITY DEFINER and say what they give away; the others run under
-- the caller's row-level security with the tenant of the transaction.

-- What a presented API key must match. Gives away: one key's hash and rights, to a caller who knows its id.
CREATE OR REPLACE FUNCTION find_key(p_tenant integer, p_key_id text)
RETURNS TABLE (tenant_name text, hash bytea, scopes text[], ref_glob text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
    SELECT t.name, k.hash, k.scopes, k.ref_glob
    FROM api_keys k JOIN tenants t USING (tenant_id)
    WHERE k.tenant_id = p_tenant AND k.key_id = p_key_id AND k.revoked_at IS NULL
$$;

-- Which tenants have work that no message may have announced. Gives away: tenant numbers.
CREATE OR REPLACE FUNCTION tenants_with_work()
RETURNS TABLE (tenant_id integer, drafts boolean, jobs boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
    SELECT *
    FROM (
        SELECT t.tenant_id,
               EXISTS (SELECT FROM inbox i WHERE i.tenant_id = t.tenant_id AND i.failed_at IS NULL) AS drafts,
               EXISTS (SELECT FROM jobs j WHERE j.tenant_id = t.tenant_id
                       AND j.status IN ('queued', 'running')) AS jobs
        FROM tenants t
    ) work
    WHERE drafts OR jobs
$$;

-- Every tenant, for upkeep that visits them in turn. Gives away: tenant numbers.
CREATE OR REPLACE FUNCTION all_tenants()
RETURNS TABLE (tenant_id integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
    SELECT t.tenant_id FROM tenants t ORDER BY t.tenant_id
$$;

-- How much is in the inbox, all tenants together. Gives away: two totals, and the age of the oldest that waits.
CREATE OR REPLACE FUNCTION inbox_backlog()
RETURNS TABLE (waiting bigint, failed bigint, oldest_seconds double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public AS $$
    SELECT (SELECT count(*) FROM inbox WHERE failed_at IS NULL),
           (SELECT count(*) FROM inbox WHERE failed_at IS NOT NULL),
           greatest(coalesce(extract(epoch FROM clock_timestamp() - min(first.arrived_at)), 0), 0)
    FROM tenants t
    CROSS JOIN LATERAL (
        SELECT i.arrived_at FROM inbox i
        WHERE i.tenant_id = t.tenant_id AND i.failed_at IS NULL
        ORDER BY i.seq LIMIT 1) first
$$;

-- Accepts a batch whole: Drafts are in the inbox when this commits, or none is.
-- A repeat of an id with the same digest returns the first receipt; with another digest the batch is refused
-- with SQLSTATE FW409 and the index of the offender as its detail. A run of the tenant that has ended, or
-- whose lease is over, takes no more Drafts (FW410): its registry of secrets may be gone.
CREATE OR REPLACE FUNCTION accept_drafts(
    p_refs text[], p_ids text[], p_digests bytea[], p_sealed bytea[], p_created timestamptz[],
    p_runs text[] DEFAULT NULL
)
RETURNS TABLE (index bigint, seq bigint, created_at timestamptz)
LANGUAGE plpgsql AS $$
DECLARE
    offender bigint;
BEGIN
    INSERT INTO scopes (tenant_id, memory_ref)
    SELECT current_tenant(), ref
    FROM (SELECT DISTINCT ref FROM unnest(p_refs) AS ref ORDER BY ref) given
    WHERE NOT EXISTS (SELECT FROM scopes s WHERE s.tenant_id = current_tenant() AND s.memory_ref = ref)
    ON CONFLICT DO NOTHING;

    WITH given AS MATERIALIZED (
        SELECT ordered.*, nextval('accept_seq') AS seq
        FROM (
            SELECT i.*, s.scope_id
            FROM unnest(p_refs, p_ids, p_digests, p_sealed, p_created, p_runs)
                     WITH ORDINALITY AS i (ref, id, digest, sealed, created, run, index)
            JOIN scopes s ON s.tenant_id = current_tenant() AND s.memory_ref = i.ref
            ORDER BY i.index
        ) ordered
    ), firsts AS (
        SELECT DISTINCT ON (scope_id, id) * FROM given ORDER BY scope_id, id, index
    ), fresh AS (
        INSERT INTO receipts AS r (tenant_id, scope_id, id, seq, digest, created_at)
        SELECT current_tenant(), scope_id, id, firsts.seq, digest,
               coalesce(created, date_trunc('milliseconds', clock_timestamp()))
        FROM firsts ORDER BY scope_id, id
        ON CONFLICT DO NOTHING
        RETURNING r.scope_id, r.id, r.seq, r.created_at
    )
    INSERT INTO inbox (tenant_id, scope_id, seq, id, sealed, accepted_at, run_id)
    SELECT current_tenant(), fresh.scope_id, fresh.seq, fresh.id, firsts.sealed, fresh.created_at, firsts.run
    FROM fresh JOIN firsts USING (scope_id, id);

    IF p_runs IS NOT NULL AND NOT hold_runs(p_runs) THEN
        RAISE EXCEPTION 'the run has ended' USING ERRCODE = 'FW410';
    END IF;

    SELECT i.index INTO offender
    FROM unnest(p_refs, p_ids, p_digests) WITH ORDINALITY AS i (ref, id, digest, index)
    JOIN scopes s ON s.tenant_id = current_tenant() AND s.memory_ref = i.ref
    JOIN receipts r ON r.tenant_id = s.tenant_id AND r.scope_id = s.scope_id AND r.id = i.id
    WHERE r.digest <> i.digest
    ORDER BY i.index LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'the id is taken by another body' USING ERRCODE = 'FW409', DETAIL = offender - 1;
    END IF;

    RETURN QUERY
    SELECT i.index - 1, r.seq, r.created_at
    FROM unnest(p_refs, p_ids) WITH ORDINALITY AS i (ref, id, index)
    JOIN scopes s ON s.tenant_id = current_tenant() AND s.memory_ref = i.ref
    JOIN receipts r ON r.tenant_id = s.tenant_id AND r.scope_id = s.scope_id AND r.id = i.id
    ORDER BY i.index;
END $$;

-- Rows of a scope that a read may see, newest first, judged by the budget law (foreword.budget.walk is the
-- same law; a property test holds the two together). Costs one index scan over what it visits. Its plans are
-- generic, and those of what it calls: one plan is right for every scope, and making it took most of a read.
CREATE OR REPLACE FUNCTION walk_recent(
    p_scope bigint, p_counter integer, p_budget bigint, p_limit integer, p_fit text, p_before bigint,
    p_tag text, p_kind text, p_now timestamptz, p_walk integer,
    OUT kept bigint[], OUT used bigint, OUT visited bigint, OUT oversize bigint, OUT ended text,
    OUT smallest_omitted bigint, OUT resume bigint
)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    rows refcursor;
    row_seq bigint;
    row_cost integer;
    -- under prefix the scan itself leaves out what can never fit; what it passed over is counted afterwards
    ceiling bigint := CASE WHEN p_fit = 'prefix' THEN p_budget END;
BEGIN
    kept := '{}'; used := 0; visited := 0; oversize := 0; ended := 'end'; resume := p_before;
    IF p_tag IS NOT NULL THEN
        OPEN rows FOR
            SELECT e.seq, e.costs[p_counter + 1]
            FROM entry_tags t
            CROSS JOIN LATERAL (
                SELECT * FROM entries
                WHERE tenant_id = t.tenant_id AND scope_id = t.scope_id AND id = t.id
                OFFSET 0) e
            WHERE t.tenant_id = current_tenant() AND t.scope_id = p_scope AND t.tag = p_tag
              AND t.seq < p_before AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > p_now)
              AND (p_kind IS NULL OR e.kind = p_kind)
              AND (ceiling IS NULL OR e.costs[p_counter + 1] <= ceiling)
            ORDER BY t.seq DESC;
    ELSIF p_kind IS NOT NULL THEN
        OPEN rows FOR
            SELECT e.seq, e.costs[p_counter + 1]
            FROM entries e
            WHERE e.tenant_id = current_tenant() AND e.scope_id = p_scope AND e.kind = p_kind
              AND e.seq < p_before AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > p_now)
              AND (ceiling IS NULL OR e.costs[p_counter + 1] <= ceiling)
            ORDER BY e.seq DESC;
    ELSE
        OPEN rows FOR
            SELECT e.seq, e.costs[p_counter + 1]
            FROM entries e
            WHERE e.tenant_id = current_tenant() AND e.scope_id = p_scope
              AND e.seq < p_before AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > p_now)
              AND (ceiling IS NULL OR e.costs[p_counter + 1] <= ceiling)
            ORDER BY e.seq DESC;
    END IF;

    LOOP
        IF cardinality(kept) = p_limit THEN ended := 'limit'; EXIT; END IF;
        IF p_fit = 'pack' AND p_budget IS NOT NULL AND visited = p_walk THEN ended := 'walk'; EXIT; END IF;
        FETCH rows INTO row_seq, row_cost;
        EXIT WHEN NOT FOUND;
        IF p_budget IS NULL OR used + row_cost <= p_budget THEN
            kept := kept || row_seq;
            used := used + row_cost;
        ELSE
            smallest_omitted := least(smallest_omitted, row_cost);
            IF p_fit <> 'pack' AND row_cost <= p_budget THEN ended := 'budget'; EXIT; END IF;
            oversize := oversize + (row_cost > p_budget)::integer;
            IF p_fit = 'strict' THEN
                ended := 'budget'; visited := visited + 1; resume := row_seq; EXIT;
            END IF;
        END IF;
        visited := visited + 1;
        resume := row_seq;
    END LOOP;
    CLOSE rows;

    IF ceiling IS NOT NULL THEN
        -- 'limit' stops right after the last kept row; 'budget' right before the row that did not fit
        SELECT o.n, least(smallest_omitted, o.smallest), least(resume, o.lowest)
        INTO oversize, smallest_omitted, resume
        FROM count_oversize(
            p_scope, p_counter, p_budget, p_before,
            CASE ended WHEN 'budget' THEN row_seq + 1 WHEN 'end' THEN 0 ELSE resume END,
            p_tag, p_kind, p_now
        ) o;
        visited := cardinality(kept) + oversize;
    END IF;
END $$;

-- How many visible rows in [p_from, p_before) cost more than the budget; the smallest such cost, the oldest row.
CREATE OR REPLACE FUNCTION count_oversize(
    p_scope bigint, p_counter integer, p_budget bigint, p_before bigint, p_from bigint,
    p_tag text, p_kind text, p_now timestamptz, OUT n bigint, OUT smallest bigint, OUT lowest bigint
)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF p_tag IS NOT NULL THEN
        SELECT count(*), min(e.costs[p_counter + 1]), min(e.seq) INTO n, smallest, lowest
        FROM entry_tags t
        CROSS JOIN LATERAL (
            SELECT * FROM entries
            WHERE tenant_id = t.tenant_id AND scope_id = t.scope_id AND id = t.id
            OFFSET 0) e
        WHERE t.tenant_id = current_tenant() AND t.scope_id = p_scope AND t.tag = p_tag
          AND t.seq < p_before AND t.seq >= p_from AND (p_kind IS NULL OR e.kind = p_kind)
          AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > p_now)
          AND e.costs[p_counter + 1] > p_budget;
    ELSIF p_kind IS NOT NULL THEN
        SELECT count(*), min(e.costs[p_counter + 1]), min(e.seq) INTO n, smallest, lowest
        FROM entries e
        WHERE e.tenant_id = current_tenant() AND e.scope_id = p_scope AND e.kind = p_kind
          AND e.seq < p_before AND e.seq >= p_from
          AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > p_now)
          AND e.costs[p_counter + 1] > p_budget;
    ELSE
        SELECT count(*), min(e.costs[p_counter + 1]), min(e.seq) INTO n, smallest, lowest
        FROM entries e
        WHERE e.tenant_id = current_tenant() AND e.scope_id = p_scope
          AND e.seq < p_before AND e.seq >= p_from
          AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > p_now)
          AND e.costs[p_counter + 1] > p_budget;
    END IF;
END $$;

-- Live rows of a scope under a filter: what a first page has before it.
CREATE OR REPLACE FUNCTION count_live(p_scope bigint, p_tag text, p_kind text, p_now timestamptz)
RETURNS bigint
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF p_tag IS NOT NULL THEN
        RETURN (
            SELECT count(*) FROM entry_tags t
            CROSS JOIN LATERAL (
                SELECT * FROM entries
                WHERE tenant_id = t.tenant_id AND scope_id = t.scope_id AND id = t.id
                OFFSET 0) e
            WHERE t.tenant_id = current_tenant() AND t.scope_id = p_scope AND t.tag = p_tag
              AND (p_kind IS NULL OR e.kind = p_kind)
              AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > p_now));
    ELSIF p_kind IS NOT NULL THEN
        RETURN (
            SELECT count(*) FROM entries e
            WHERE e.tenant_id = current_tenant() AND e.scope_id = p_scope AND e.kind = p_kind
              AND NOT e.superseded AND (e.expires_at IS NULL OR e.expires_at > p_now));
    END IF;
    RETURN (
        SELECT s.active - (
            SELECT count(*) FROM entries e
            WHERE e.tenant_id = current_tenant() AND e.scope_id = p_scope AND e.expires_at <= p_now
              AND NOT e.superseded)
        FROM scopes s WHERE s.tenant_id = current_tenant() AND s.scope_id = p_scope);
END $$;

-- Removes one id, filed or not. 'removed'; 'gone' when an earlier call removed it; 'unknown'.
-- A Draft that a worker is filing right now is waited for. Everyone locks inbox, then scope, then entries and receipts.
CREATE OR REPLACE FUNCTION remove_entry(p_ref text, p_id text)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_scope bigint;
    earlier timestamptz;
    waiting integer;
    filed integer;
    shown integer;
BEGIN
    SELECT s.scope_id INTO v_scope
    FROM scopes s JOIN receipts r USING (tenant_id, scope_id)
    WHERE s.tenant_id = current_tenant() AND s.memory_ref = p_ref AND r.id = p_id;
    IF NOT FOUND THEN RETURN 'unknown'; END IF;

    DELETE FROM inbox WHERE tenant_id = current_tenant() AND scope_id = v_scope AND id = p_id;
    GET DIAGNOSTICS waiting = ROW_COUNT;
    PERFORM FROM scopes WHERE tenant_id = current_tenant() AND scope_id = v_scope FOR NO KEY UPDATE;
    SELECT removed_at INTO earlier FROM receipts
    WHERE tenant_id = current_tenant() AND scope_id = v_scope AND id = p_id;
    IF earlier IS NOT NULL THEN RETURN 'gone'; END IF;
    WITH gone AS (
        DELETE FROM entries WHERE tenant_id = current_tenant() AND scope_id = v_scope AND id = p_id
        RETURNING superseded
    ) SELECT count(*), count(*) FILTER (WHERE NOT superseded) INTO filed, shown FROM gone;

    UPDATE receipts SET removed_at = clock_timestamp()
    WHERE tenant_id = current_tenant() AND scope_id = v_scope AND id = p_id;
    IF waiting + filed = 0 THEN RETURN 'gone'; END IF;  -- it had expired and was purged
    UPDATE scopes SET version = version + 1, active = active - shown
    WHERE tenant_id = current_tenant() AND scope_id = v_scope;
    RETURN 'removed';
END $$;

-- Removes every entry of a scope that has the tag (any, if null) and was created before the instant (ever, if
-- null); Drafts not yet filed go too when no tag is named (a sealed Draft has no readable tags: the caller
-- waits until they are filed). Returns how many entries and Drafts are gone.
CREATE OR REPLACE FUNCTION forget_entries(p_ref text, p_tag text, p_before timestamptz)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_scope bigint;
    waiting text[] := '{}';
    filed text[];
    shown bigint;
BEGIN
    SELECT scope_id INTO v_scope FROM scopes WHERE tenant_id = current_tenant() AND memory_ref = p_ref;
    IF NOT FOUND THEN RETURN 0; END IF;
    IF p_tag IS NULL THEN
        WITH gone AS (
            DELETE FROM inbox WHERE tenant_id = current_tenant() AND scope_id = v_scope
              AND (p_before IS NULL OR accepted_at < p_before)
            RETURNING id
        ) SELECT coalesce(array_agg(id), '{}') INTO waiting FROM gone;
    END IF;
    PERFORM FROM scopes WHERE tenant_id = current_tenant() AND scope_id = v_scope FOR NO KEY UPDATE;
    WITH gone AS (
        DELETE FROM entries WHERE tenant_id = current_tenant() AND scope_id = v_scope
          AND (p_before IS NULL OR created_at < p_before)
          AND (p_tag IS NULL OR id IN (
              SELECT t.id FROM entry_tags t
              WHERE t.tenant_id = current_tenant() AND t.scope_id = v_scope AND t.tag = p_tag))
        RETURNING id, superseded
    ) SELECT coalesce(array_agg(id), '{}'), count(*) FILTER (WHERE NOT superseded) INTO filed, shown FROM gone;

    UPDATE receipts SET removed_at = clock_timestamp()
    WHERE tenant_id = current_tenant() AND scope_id = v_scope AND id = ANY (waiting || filed);
    UPDATE scopes SET version = version + 1, active = active - shown
    WHERE tenant_id = current_tenant() AND scope_id = v_scope AND cardinality(waiting || filed) > 0;
    RETURN cardinality(waiting || filed);
END $$;

-- Whether an accepted Draft of this scope at or before a position is still waiting to be filed.
CREATE OR REPLACE FUNCTION is_pending(p_ref text, p_seq bigint)
RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM inbox i JOIN scopes s USING (tenant_id, scope_id)
        WHERE s.tenant_id = current_tenant() AND s.memory_ref = p_ref
          AND i.seq <= p_seq AND i.failed_at IS NULL)
$$;
