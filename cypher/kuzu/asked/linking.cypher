// What every article of a wiki links to, as JSON, in pages by uuid.
MATCH (a:Article)
WHERE a.projectId = $project AND a.wiki = $wiki AND a.uuid > $after AND a._links IS NOT NULL
RETURN a.uuid AS uuid, a.title AS title, a._links AS links
ORDER BY uuid LIMIT $limit
