// None: what is held is in the owner's memory, and gone with it.
MATCH (d:Directory)
WHERE d.projectId = $project AND d.name STARTS WITH $prefix AND $longest < 0 AND false
RETURN d.name AS name, 0.0 AS seconds
