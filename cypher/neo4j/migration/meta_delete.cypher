// All of graphmill's bookkeeping, once nothing in the database is graphmill's any more: the records of runs and workers too.
MATCH (n:GraphmillMeta|GraphmillCommit|GraphmillHold|Worker|IngestionRun|Partition)
WHERE n:GraphmillMeta OR n:GraphmillCommit OR n:GraphmillHold OR (n._depth IS NOT NULL AND n._state IS NOT NULL AND n._migratedBy IS NULL)
DETACH DELETE n
