"""The ledger's shape and its administration: schema, migrations, tenants and API keys."""
