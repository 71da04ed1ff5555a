// Every article of a wiki with the titles that redirect to it, in pages by uuid.
MATCH (a:Article)
WHERE a.projectId = $project AND a.wiki = $wiki AND a.uuid > $after AND a.redirects IS NOT NULL
RETURN a.uuid AS uuid, a.title AS title, a.redirects AS redirects
ORDER BY uuid LIMIT $limit
