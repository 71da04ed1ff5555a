// What graphmill has noted about its work in projects that had nothing of graphmill's before a migration.
MATCH (n:Worker|IngestionRun|Partition|GraphmillHold|GraphmillMeta)
WHERE n.projectId IN $projects AND n._migratedBy IS NULL
  AND (n:GraphmillHold OR n:GraphmillMeta OR (n._depth IS NOT NULL AND n._state IS NOT NULL))
DETACH DELETE n
