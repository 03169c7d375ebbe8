-- Only for who asks for turns. As an index of all rows it was taken, on a ledger without statistics, for whatever
-- names tenant and scope, the check that a queued or tagged entry exists among it; each then read its whole scope.
DROP INDEX entries_turn;
CREATE INDEX entries_turn ON entries (tenant_id, scope_id, conversation, turn) WHERE turn IS NOT NULL;
