-- What an entry costs as a JSON row. Entries filed before this have no such cost until a recount.
ALTER TABLE entries ADD COLUMN json_costs integer[] NOT NULL DEFAULT '{}';
ALTER TABLE counters ADD COLUMN json_complete boolean NOT NULL DEFAULT false;
UPDATE counters SET json_complete = complete AND NOT EXISTS (SELECT FROM entries);
