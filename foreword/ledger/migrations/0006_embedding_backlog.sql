-- Since when an entry waits for its vector.
ALTER TABLE unembedded ADD COLUMN queued_at timestamptz NOT NULL DEFAULT now();
