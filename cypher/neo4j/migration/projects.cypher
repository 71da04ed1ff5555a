MATCH (n) WHERE n._migratedBy IS NOT NULL AND n._state = 'ready' AND n.embedding IS NOT NULL
RETURN DISTINCT n.projectId AS project
