// With the project's id on it, so that whoever deletes all nodes of a project takes this one too.
MERGE (m:GraphmillMeta {key: $key})
SET m.projectId = $project, m.text = $note
