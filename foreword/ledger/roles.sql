-- The two application roles and what each may do. Applied anew by every migrate.
-- Neither owns a table nor bypasses row-level security; passwords are set by the migrator.

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['foreword_shim', 'foreword_worker'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS', name);
        END IF;
        EXECUTE format('ALTER ROLE %I SET statement_timeout = %L', name, '15s');
        -- statements are short and the planner's guess of their cost is not: compiling them would take longer
        EXECUTE format('ALTER ROLE %I SET jit = off', name);
        EXECUTE format('ALTER ROLE %I SET idle_in_transaction_session_timeout = %L', name, '15s');
        IF current_setting('server_version_num')::integer >= 170000 THEN
            EXECUTE format('ALTER ROLE %I SET transaction_timeout = %L', name, '25s');
        END IF;
    END LOOP;
    ALTER ROLE foreword_shim SET jit = off;  -- reads of milliseconds: starting helpers would take longer
    ALTER ROLE foreword_shim SET max_parallel_workers_per_gather = 0;
END $$;

GRANT USAGE ON SCHEMA public TO foreword_shim, foreword_worker;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO foreword_shim, foreword_worker;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO foreword_shim, foreword_worker;

GRANT SELECT ON counters, tenants, scopes, receipts, inbox, entries, entry_tags, secrets, jobs, events
    TO foreword_shim;
GRANT INSERT ON scopes, receipts, inbox, secrets, jobs TO foreword_shim;
GRANT DELETE ON inbox, entries, receipts, secrets TO foreword_shim;
GRANT UPDATE (version, active) ON scopes TO foreword_shim;
GRANT UPDATE (removed_at) ON receipts TO foreword_shim;
GRANT UPDATE (secrets_version) ON tenants TO foreword_shim;
GRANT UPDATE (sealed, created_at) ON secrets TO foreword_shim;

GRANT SELECT ON counters, tenants, secrets TO foreword_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON scopes, receipts, inbox, entries, entry_tags, supersessions, jobs,
    events TO foreword_worker;
GRANT UPDATE (secrets_version) ON tenants TO foreword_worker;  -- what a lock in share mode needs
GRANT UPDATE (complete) ON counters TO foreword_worker;

REVOKE EXECUTE ON FUNCTION register_model, serve_model, tenants_unembedded, tenants_outgrown FROM foreword_shim;
GRANT SELECT ON embedding_models, vectors, unembedded, postings TO foreword_shim;
GRANT SELECT, UPDATE, INSERT, DELETE ON vectors, unembedded, postings TO foreword_worker;
GRANT SELECT ON embedding_models TO foreword_worker;
GRANT DELETE ON postings TO foreword_shim;  -- a removal takes them along
GRANT UPDATE (documents, terms) ON scopes TO foreword_shim;

GRANT SELECT ON runs, run_events, run_secrets TO foreword_shim;
GRANT INSERT, UPDATE ON runs TO foreword_shim;
GRANT INSERT ON run_events TO foreword_shim;
GRANT INSERT, DELETE ON run_secrets TO foreword_shim;
GRANT SELECT, DELETE ON runs, run_secrets TO foreword_worker;
GRANT UPDATE (variables, error) ON runs TO foreword_worker;  -- hiding what was registered later; a lock
GRANT SELECT, INSERT ON run_events TO foreword_worker;
GRANT UPDATE (payload) ON run_events TO foreword_worker;  -- hiding what was registered later

-- The shim makes one tenant, the one without keys that conformance runs probe with, and no other.
GRANT INSERT (tenant_id, name) ON tenants TO foreword_shim;
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_policies WHERE tablename = 'tenants' AND policyname = 'outsider') THEN
        CREATE POLICY outsider ON tenants AS RESTRICTIVE FOR INSERT TO foreword_shim
            WITH CHECK (tenant_id = 0 AND name = 'openwop:outsider');
    END IF;
END $$;
