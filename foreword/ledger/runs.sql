-- Functions of runs: events without gaps, and secrets that outlive every Draft they protect.
--
-- Applied anew by every migrate. Whoever locks a run has locked its inbox rows and scopes before.

-- Whether none of these runs of the tenant has ended or lost its lease; those that go on are held so until the
-- commit. A run that the tenant does not have protects nothing, so it is no obstacle either.
CREATE OR REPLACE FUNCTION hold_runs(p_runs text[])
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM runs WHERE tenant_id = current_tenant() AND run_id = ANY (p_runs) ORDER BY run_id FOR KEY SHARE;
    RETURN NOT EXISTS (
        SELECT FROM runs WHERE tenant_id = current_tenant() AND run_id = ANY (p_runs)
          AND (finished_at IS NOT NULL OR lease_until <= clock_timestamp()));
END $$;

-- Tells runs what happened: one event for each index of the arrays, under the next number of its run, at an instant or now.
-- Events of a run that this tenant does not have are dropped; how many were kept. The runs are locked in order
-- until the commit, so that numbers have no gaps and stand in the order of the commits.
CREATE OR REPLACE FUNCTION tell_runs(
    p_runs text[], p_ids text[], p_types text[], p_payloads jsonb[], p_at timestamptz[] DEFAULT NULL
)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    told bigint;
BEGIN
    PERFORM FROM runs WHERE tenant_id = current_tenant() AND run_id = ANY (p_runs)
    ORDER BY run_id FOR NO KEY UPDATE;
    INSERT INTO run_events (tenant_id, run_id, seq, event_id, type, payload, at)
    SELECT current_tenant(), r.run_id, last.seq + row_number() OVER (PARTITION BY r.run_id ORDER BY g.index),
           g.id, g.type, g.payload, coalesce(g.at, date_trunc('milliseconds', clock_timestamp()))
    FROM unnest(p_runs, p_ids, p_types, p_payloads, p_at) WITH ORDINALITY AS g (run, id, type, payload, at, index)
    JOIN runs r ON r.tenant_id = current_tenant() AND r.run_id = g.run
    CROSS JOIN LATERAL (
        SELECT coalesce(max(e.seq), 0) AS seq FROM run_events e
        WHERE e.tenant_id = current_tenant() AND e.run_id = r.run_id) last
    ORDER BY g.index;
    GET DIAGNOSTICS told = ROW_COUNT;
    RETURN told;
END $$;

-- Adds what a run resolved to its registry; false, and nothing added, when it has ended or is none of this tenant.
CREATE OR REPLACE FUNCTION register_run_secrets(p_run text, p_ids text[], p_sealed bytea[])
RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT hold_runs(ARRAY[p_run]) THEN RETURN false; END IF;
    INSERT INTO run_secrets (tenant_id, run_id, secret_id, sealed)
    SELECT r.tenant_id, r.run_id, g.id, g.sealed
    FROM runs r, unnest(p_ids, p_sealed) AS g (id, sealed)
    WHERE r.tenant_id = current_tenant() AND r.run_id = p_run;
    RETURN FOUND;
END $$;

-- Removes the registry of a run that has ended or lost its lease, unless a Draft of it waits or failed: that one
-- may be filed yet. How many secrets are gone; upkeep calls it for every run until all are.
CREATE OR REPLACE FUNCTION forget_run_secrets(p_run text)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    gone bigint;
BEGIN
    PERFORM FROM runs WHERE tenant_id = current_tenant() AND run_id = p_run
      AND (finished_at IS NOT NULL OR lease_until <= clock_timestamp()) FOR UPDATE;
    IF NOT FOUND THEN RETURN 0; END IF;
    DELETE FROM run_secrets s WHERE s.tenant_id = current_tenant() AND s.run_id = p_run
      AND NOT EXISTS (SELECT FROM inbox i WHERE i.tenant_id = s.tenant_id AND i.run_id = s.run_id);
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END $$;
