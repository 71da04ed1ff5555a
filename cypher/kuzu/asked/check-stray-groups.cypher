// Folders and categories that wait for what is never done to them: they are born parsed, and follow what is in them.
// Those of no root and no wiki are somebody's own: only a job asks for $everything.
MATCH (n:Directory:Category)
WHERE n.projectId = $project AND n.uuid > $after AND n._state IN ['pending', 'linked']
  AND ($everything OR n.root IS NOT NULL OR n.wiki IS NOT NULL)
RETURN n.uuid AS uuid, label(n) AS label, n._state AS found
ORDER BY uuid LIMIT $limit
