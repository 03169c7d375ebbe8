-- The ledger, whole: what every migration together must amount to (a test compares the two roads).
--
-- Laws kept here: every tenant table has row-level security on the transaction's tenant, every key and index
-- leads with the tenant, and order is the accept sequence alone.

CREATE FUNCTION current_tenant() RETURNS integer
LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('foreword.tenant', true), '')::integer;

CREATE TABLE counters (
    ordinal        smallint PRIMARY KEY,
    name           text NOT NULL UNIQUE,
    complete       boolean NOT NULL,               -- whether every entry has its costs and row costs
    json_complete  boolean NOT NULL DEFAULT false  -- whether every entry has its JSON costs
);
INSERT INTO counters VALUES (0, 'o200k_base', true, true), (1, 'cl100k_base', true, true),
                            (2, 'chars', true, true), (3, 'host-defined', true, true);

CREATE TABLE tenants (
    tenant_id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name             text NOT NULL UNIQUE,
    pii              text[] NOT NULL DEFAULT '{}',
    secrets_version  bigint NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_keys (
    tenant_id   integer NOT NULL REFERENCES tenants ON DELETE CASCADE,
    key_id      text NOT NULL,
    hash        bytea NOT NULL,
    scopes      text[] NOT NULL,
    ref_glob    text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    revoked_at  timestamptz,
    PRIMARY KEY (tenant_id, key_id)
);

CREATE TABLE scopes (
    tenant_id   integer NOT NULL REFERENCES tenants ON DELETE CASCADE,
    scope_id    bigint GENERATED ALWAYS AS IDENTITY,
    memory_ref  text NOT NULL,
    version     bigint NOT NULL DEFAULT 0,  -- one more with every commit that changes what a read may see
    active      bigint NOT NULL DEFAULT 0,  -- rows of entries that no successor has replaced
    PRIMARY KEY (tenant_id, scope_id),
    UNIQUE (tenant_id, memory_ref)
);

CREATE SEQUENCE accept_seq;

-- Every id ever accepted in a scope, until a week after its removal: a repeat gets the same receipt.
CREATE TABLE receipts (
    tenant_id   integer NOT NULL,
    scope_id    bigint NOT NULL,
    id          text NOT NULL,
    seq         bigint NOT NULL,
    digest      bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    removed_at  timestamptz,
    PRIMARY KEY (tenant_id, scope_id, id),
    FOREIGN KEY (tenant_id, scope_id) REFERENCES scopes ON DELETE CASCADE
);
CREATE INDEX receipts_removed ON receipts (tenant_id, removed_at) WHERE removed_at IS NOT NULL;

-- Accepted, sealed Drafts that no worker has filed yet.
CREATE TABLE inbox (
    tenant_id    integer NOT NULL,
    scope_id     bigint NOT NULL,
    seq          bigint NOT NULL,
    id           text NOT NULL,
    sealed       bytea NOT NULL,
    accepted_at  timestamptz NOT NULL,
    failed_at    timestamptz,
    reason       text,
    arrived_at   timestamptz NOT NULL DEFAULT now(),  -- also of an import, whose accepted_at is its createdAt
    run_id       text,  -- the run a Draft was written in, whose secrets it may hold
    PRIMARY KEY (tenant_id, scope_id, seq),
    UNIQUE (tenant_id, scope_id, id),
    FOREIGN KEY (tenant_id, scope_id) REFERENCES scopes ON DELETE CASCADE
);
CREATE INDEX inbox_waiting ON inbox (tenant_id, seq) WHERE failed_at IS NULL;
CREATE INDEX inbox_failed ON inbox (tenant_id, seq) WHERE failed_at IS NOT NULL;
CREATE INDEX inbox_run ON inbox (tenant_id, run_id) WHERE run_id IS NOT NULL;

CREATE TABLE entries (
    tenant_id      integer NOT NULL,
    scope_id       bigint NOT NULL,
    seq            bigint NOT NULL,
    id             text NOT NULL,
    content        text NOT NULL,
    tags           text[] NOT NULL,
    kind           text NOT NULL,
    confidence     real NOT NULL,
    pinned         boolean NOT NULL,
    metadata       jsonb NOT NULL,
    source         text,
    speaker        text,
    conversation   text,
    links          jsonb NOT NULL,
    supersedes     text[] NOT NULL,
    observed_at    timestamptz NOT NULL,
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz,
    superseded     boolean NOT NULL DEFAULT false,
    costs          integer[] NOT NULL,  -- of the content, by counter ordinal
    row_costs      integer[] NOT NULL,  -- of the rendered row, by counter ordinal
    json_costs     integer[] NOT NULL DEFAULT '{}',  -- of the rendered JSON row, by counter ordinal
    PRIMARY KEY (tenant_id, scope_id, id),
    FOREIGN KEY (tenant_id, scope_id) REFERENCES scopes ON DELETE CASCADE
);
CREATE UNIQUE INDEX entries_recency ON entries (tenant_id, scope_id, seq DESC)
    INCLUDE (costs, expires_at) WHERE NOT superseded;
CREATE INDEX entries_kind ON entries (tenant_id, scope_id, kind, seq DESC) WHERE NOT superseded;
CREATE INDEX entries_expiry ON entries (tenant_id, scope_id, expires_at)
    INCLUDE (superseded) WHERE expires_at IS NOT NULL;

CREATE TABLE entry_tags (
    tenant_id  integer NOT NULL,
    scope_id   bigint NOT NULL,
    tag        text NOT NULL,
    seq        bigint NOT NULL,
    id         text NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, tag, seq),
    FOREIGN KEY (tenant_id, scope_id, id) REFERENCES entries ON DELETE CASCADE
);
CREATE INDEX entry_tags_entry ON entry_tags (tenant_id, scope_id, id);

-- Which id replaced which, also where the replaced one has not been filed yet.
CREATE TABLE supersessions (
    tenant_id  integer NOT NULL,
    scope_id   bigint NOT NULL,
    old_id     text NOT NULL,
    new_id     text NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, old_id, new_id),
    FOREIGN KEY (tenant_id, scope_id) REFERENCES scopes ON DELETE CASCADE
);

CREATE TABLE secrets (
    tenant_id   integer NOT NULL REFERENCES tenants ON DELETE CASCADE,
    secret_id   text NOT NULL,
    sealed      bytea NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, secret_id)
);

CREATE TABLE jobs (
    tenant_id   integer NOT NULL REFERENCES tenants ON DELETE CASCADE,
    job_id      uuid NOT NULL DEFAULT gen_random_uuid(),
    kind        text NOT NULL,
    params      jsonb NOT NULL DEFAULT '{}',
    status      text NOT NULL DEFAULT 'queued'
                CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    progress    real NOT NULL DEFAULT 0,
    resume      jsonb NOT NULL DEFAULT '{}',  -- where a job that was cut short goes on
    error       jsonb,
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, job_id)
);
CREATE INDEX jobs_open ON jobs (tenant_id, created_at) WHERE status IN ('queued', 'running');

-- What happened, content-free: ids only. One row holds the ids of one commit.
CREATE TABLE events (
    tenant_id  integer NOT NULL,
    scope_id   bigint NOT NULL,
    event_seq  bigint GENERATED ALWAYS AS IDENTITY,
    type       text NOT NULL,
    ids        text[] NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, scope_id, event_seq),
    FOREIGN KEY (tenant_id, scope_id) REFERENCES scopes ON DELETE CASCADE
);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['tenants', 'api_keys', 'scopes', 'receipts', 'inbox', 'entries', 'entry_tags',
                                'supersessions', 'secrets', 'jobs', 'events']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY of_tenant ON %I USING (tenant_id = current_tenant())', name);
    END LOOP;
END $$;

-- Relevance: vectors, postings and what is still to be embedded.

CREATE TABLE embedding_models (
    model_id   smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    dimension  integer NOT NULL CHECK (dimension BETWEEN 1 AND 4000),
    distance   text NOT NULL CHECK (distance = 'cosine'),
    state      text NOT NULL CHECK (state IN ('building', 'serving', 'retired'))
);
CREATE UNIQUE INDEX embedding_models_serving ON embedding_models (state) WHERE state = 'serving';

ALTER TABLE entries ADD COLUMN turn integer;  -- place in its conversation, or in the scope without one
CREATE INDEX entries_turn ON entries (tenant_id, scope_id, conversation, turn)
    WHERE turn IS NOT NULL;  -- so that nothing else takes it for the sake of its first columns
ALTER TABLE scopes ADD COLUMN documents bigint NOT NULL DEFAULT 0;    -- entries with postings
ALTER TABLE scopes ADD COLUMN terms bigint NOT NULL DEFAULT 0;        -- their lengths together
ALTER TABLE scopes ADD COLUMN in_graph boolean NOT NULL DEFAULT false;  -- too large for exact scans

-- Of live entries only: what is removed, superseded or rewritten takes its vectors along.
CREATE TABLE vectors (
    tenant_id   integer NOT NULL,
    scope_id    bigint NOT NULL,
    model_id    smallint NOT NULL REFERENCES embedding_models,
    seq         bigint NOT NULL,
    id          text NOT NULL,
    expires_at  timestamptz,
    in_graph    boolean NOT NULL DEFAULT false,
    costs       integer[] NOT NULL,  -- the entry's, so that a cut needs no second table
    embedding   halfvec NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, model_id, seq),
    FOREIGN KEY (tenant_id, scope_id, id) REFERENCES entries ON DELETE CASCADE
);
CREATE INDEX vectors_entry ON vectors (tenant_id, scope_id, id);

CREATE TABLE unembedded (
    tenant_id  integer NOT NULL,
    scope_id   bigint NOT NULL,
    id         text NOT NULL,
    model_id   smallint NOT NULL REFERENCES embedding_models,
    failures   integer NOT NULL DEFAULT 0,  -- five set it aside
    queued_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, model_id, scope_id, id),
    FOREIGN KEY (tenant_id, scope_id, id) REFERENCES entries ON DELETE CASCADE
);
CREATE INDEX unembedded_entry ON unembedded (tenant_id, scope_id, id);

-- The inverted index: a word (or a pair of CJK characters) of an entry's body, or '@' and a speaker's name.
CREATE TABLE postings (
    tenant_id  integer NOT NULL,
    scope_id   bigint NOT NULL,
    term       text COLLATE "C" NOT NULL,
    seq        bigint NOT NULL,
    tf         smallint NOT NULL,
    length     integer NOT NULL,
    PRIMARY KEY (tenant_id, scope_id, term, seq)  -- and no foreign key: they go with their entry, by trigger
);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['vectors', 'unembedded', 'postings'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY of_tenant ON %I USING (tenant_id = current_tenant())', name);
    END LOOP;
END $$;

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

-- A tenant that is new to the planner's statistics looks as if it had hardly any rows, and plans made for it scan
-- all that it has. So they are renewed after a fiftieth of a table has changed, and not only after a tenth.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['scopes', 'receipts', 'entries', 'entry_tags', 'vectors', 'postings'] LOOP
        EXECUTE format('ALTER TABLE %I SET (autovacuum_analyze_threshold = 500, '
                       'autovacuum_analyze_scale_factor = 0.02)', name);
    END LOOP;
END $$;
