// Titles that were redirects and are no more, or to somewhere else.
MATCH (r:Article)
WHERE r.projectId = $project AND r._relink = true
RETURN r.uuid AS uuid, r.title AS title, r.wiki AS wiki
ORDER BY uuid
