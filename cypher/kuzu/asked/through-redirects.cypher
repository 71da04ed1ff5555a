// The articles with an edge to what turned out to be a redirect, in pages by uuid.
MATCH (s:Article)-[:LINKS_TO]->(r:Article)
WHERE s.projectId = $project AND s.uuid > $after AND r._redirect IS NOT NULL
RETURN DISTINCT s.uuid AS uuid, s.wiki AS wiki, s._links AS links
ORDER BY uuid LIMIT $limit
