// The vector that a migration found is kept until the migration is final, so that a rollback can put it back.
UNWIND $rows AS uuid
MATCH (n:%label% {uuid: uuid})
WHERE n.projectId = $project
FOREACH (_ IN CASE WHEN n._migratedBy IS NOT NULL AND n._former_embedding IS NULL AND NOT 'embedding' IN coalesce(n._migratedAdded, []) THEN [1] ELSE [] END |
    SET n._former_embedding = n.embedding)
REMOVE n.embedding
RETURN count(*) AS written
