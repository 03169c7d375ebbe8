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
