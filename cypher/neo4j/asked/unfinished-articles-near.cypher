// How much of wikis is left to do beside the articles of these wikis that wait to be read or linked.
MATCH (n:Article|Section)
WHERE n.projectId = $project AND (n._state IN ['pending', 'parsing', 'linking', 'linked', 'embedding']
  OR (n._state = 'parsed' AND labels(n)[0] = 'Article'))
  AND NOT (labels(n)[0] = 'Article' AND n._state IN ['pending', 'parsed'] AND n.wiki IN $wikis)
RETURN count(*) AS count
