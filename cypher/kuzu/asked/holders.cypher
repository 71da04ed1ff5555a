// Nobody: what is held is in the owner's memory, and gone with it.
MATCH (d:Directory)
WHERE d.projectId = $project AND false
RETURN d.name AS name, d.uuid AS owner, d.uuid AS token
