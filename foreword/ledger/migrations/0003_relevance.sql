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
CREATE INDEX entries_turn ON entries (tenant_id, scope_id, conversation, turn);
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
    failures   integer NOT NULL DEFAULT 0,
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
    PRIMARY KEY (tenant_id, scope_id, term, seq),
    FOREIGN KEY (tenant_id, scope_id) REFERENCES scopes ON DELETE CASCADE
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
