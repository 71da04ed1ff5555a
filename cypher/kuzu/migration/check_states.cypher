// Nodes in no legal state, or without what every node has. Reads only.
MATCH (n:%label%)
WHERE n._migratedBy IS NOT NULL
  AND (n._state IS NULL OR NOT n._state IN $states OR n.projectId IS NULL OR n._detectedAt IS NULL OR n._stateChangedAt IS NULL)
RETURN n.uuid AS uuid
