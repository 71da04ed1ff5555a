// Runs over a source, the parts that they read it in, and the processes that work on them.
CREATE CONSTRAINT ingestion_run_uuid IF NOT EXISTS FOR (n:IngestionRun) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX ingestion_run_claim IF NOT EXISTS FOR (n:IngestionRun) ON (n.projectId, n._state, n._depth, n._detectedAt);
CREATE CONSTRAINT partition_uuid IF NOT EXISTS FOR (n:Partition) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX partition_claim IF NOT EXISTS FOR (n:Partition) ON (n.projectId, n._state, n._depth, n._detectedAt);
CREATE CONSTRAINT worker_uuid IF NOT EXISTS FOR (n:Worker) REQUIRE n.uuid IS UNIQUE;
CREATE INDEX worker_claim IF NOT EXISTS FOR (n:Worker) ON (n.projectId, n._state, n._depth, n._detectedAt);
