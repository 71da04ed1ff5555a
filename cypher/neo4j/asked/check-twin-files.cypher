// Files and folders that are there more than once: one of each path of a root.
MATCH (n:File|Directory)
WHERE n.projectId = $project AND n.path IS NOT NULL AND n.root IS NOT NULL AND n._migratedBy IS NULL
WITH head(labels(n)) AS label, n.root AS place, n.path AS key, count(*) AS copies, min(n.uuid) AS uuid
WHERE copies > 1 AND uuid > $after
RETURN uuid, label, coalesce(place, '') + '/' + coalesce(key, '') AS found
ORDER BY uuid LIMIT $limit
