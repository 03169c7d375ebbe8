-- When a Draft came in, whatever its createdAt says; and the failed ones in an index of their own.
ALTER TABLE inbox ADD COLUMN arrived_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX inbox_failed ON inbox (tenant_id, seq) WHERE failed_at IS NOT NULL;
