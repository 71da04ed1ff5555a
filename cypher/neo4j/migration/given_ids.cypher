// The uuids that a migration gave so far, so that going on with it gives no second one twice.
MATCH (n)
WHERE 'uuid' IN n._migratedAdded OR n._former_uuid IS NOT NULL
RETURN n.uuid AS uuid
