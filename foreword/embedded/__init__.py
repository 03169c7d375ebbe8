"""``foreword up``: Valkey, PostgreSQL, workers, beat and the shim, started, watched and stopped as one."""
