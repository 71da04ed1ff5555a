// How many articles of a wiki are still to be read or linked.
MATCH (a:Article)
WHERE a.projectId = $project AND a._state IN ['pending', 'parsing', 'parsed', 'linking'] AND a.wiki = $wiki
RETURN count(*) AS count
