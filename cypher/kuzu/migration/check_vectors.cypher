// Texts that are ready without a vector, or without the name of its model. Reads only.
MATCH (n:%label%)
WHERE n._migratedBy IS NOT NULL AND n._state = 'ready' AND (n.embedding IS NULL OR n._embeddingModel IS NULL OR n._embeddingHash IS NULL)
RETURN n.uuid AS uuid
