// Articles and categories that are there more than once: one of each title of a wiki.
MATCH (n:Article:Category)
WHERE n.projectId = $project AND n.title IS NOT NULL AND n.wiki IS NOT NULL
WITH label(n) AS label, n.wiki AS place, n.title AS key, count(*) AS copies, min(n.uuid) AS uuid
WHERE copies > 1 AND uuid > $after
RETURN uuid, label, coalesce(place, '') + '/' + coalesce(key, '') AS found
ORDER BY uuid LIMIT $limit
