// The categories that no article is in.
MATCH (c:Category)
WHERE c.projectId = $project AND NOT EXISTS { MATCH (c)<-[:IN_CATEGORY]-(:Article) }
RETURN c.uuid AS uuid
ORDER BY uuid LIMIT $limit
