-- Postings come and go with their entry, by trigger: looking up the scope again for each of them cost more than
-- the rest of the insert. The functions that were called row by row go, and one whose result has a new shape.
ALTER TABLE postings DROP CONSTRAINT postings_tenant_id_scope_id_fkey;
DROP FUNCTION IF EXISTS add_to_indexes(bigint[], integer, bigint);
DROP FUNCTION IF EXISTS drop_postings(integer, bigint, bigint, text, text);
DROP FUNCTION IF EXISTS postings_of(text, text);
