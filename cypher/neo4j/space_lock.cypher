// With the project's id on it, so that whoever deletes all nodes of a project takes this one too.
MERGE (m:GraphmillMeta {key: $key})
ON CREATE SET m.projectId = $project
SET m._lock = true
REMOVE m._lock
