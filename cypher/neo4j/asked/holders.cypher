// Who has which hold of the project, also where its time has run out.
MATCH (h:GraphmillHold)
WHERE h.projectId = $project AND h.token IS NOT NULL
RETURN h.name AS name, h.owner AS owner, h.token AS token
