-- Runs of the OpenWOP door, what is told of them, and the secrets they resolved.

CREATE TABLE runs (
    tenant_id    integer NOT NULL REFERENCES tenants ON DELETE CASCADE,
    run_id       text NOT NULL,
    workflow_id  text NOT NULL,
    mode         text,
    forked_from  text,
    status       text NOT NULL,
    variables    jsonb NOT NULL DEFAULT '{}',
    error        jsonb,
    created_at   timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz,
    lease_until  timestamptz NOT NULL,  -- whoever runs it renews this; past it, unfinished, it is taken for dead
    PRIMARY KEY (tenant_id, run_id)
);
CREATE INDEX runs_ended ON runs (tenant_id, coalesce(finished_at, lease_until));

CREATE TABLE run_events (
    tenant_id  integer NOT NULL,
    run_id     text NOT NULL,
    seq        bigint NOT NULL,  -- 1..n within the run, without gaps
    event_id   text NOT NULL,
    type       text NOT NULL,
    payload    jsonb NOT NULL,
    at         timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, run_id, seq),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs ON DELETE CASCADE
);

-- A secret that resolves to another value in the middle of a run has two rows: both values were seen.
CREATE TABLE run_secrets (
    tenant_id  integer NOT NULL,
    run_id     text NOT NULL,
    secret_id  text NOT NULL,
    n          bigint GENERATED ALWAYS AS IDENTITY,
    sealed     bytea NOT NULL,
    PRIMARY KEY (tenant_id, run_id, secret_id, n),
    FOREIGN KEY (tenant_id, run_id) REFERENCES runs ON DELETE CASCADE
);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['runs', 'run_events', 'run_secrets'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY of_tenant ON %I USING (tenant_id = current_tenant())', name);
    END LOOP;
END $$;

ALTER TABLE inbox ADD COLUMN run_id text;  -- the run a Draft was written in, whose secrets it may hold
CREATE INDEX inbox_run ON inbox (tenant_id, run_id) WHERE run_id IS NOT NULL;

-- It takes the runs too from now on; functions.sql makes it anew.
DROP FUNCTION IF EXISTS accept_drafts(text[], text[], bytea[], bytea[], timestamptz[]);
