// Takes the lock, also of a node that is there: looking at it comes after, in a statement of its own.
MERGE (h:GraphmillHold {key: $key})
ON CREATE SET h.projectId = $project, h.name = $name
SET h._lock = true
REMOVE h._lock
