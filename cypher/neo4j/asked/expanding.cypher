// How many articles are still to be read or linked.
MATCH (a:Article)
WHERE a.projectId = $project AND a._state IN ['pending', 'parsing', 'parsed', 'linking']
RETURN count(*) AS count
