// The folders that the project takes its files from.
MATCH (d:Directory)
WHERE d.projectId = $project AND d.path = '.' AND d.root IS NOT NULL AND d.location IS NOT NULL
RETURN d.uuid AS uuid, d.root AS root, d.location AS location, d.rules AS rules, d.host AS host
ORDER BY root
