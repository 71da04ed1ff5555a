// What articles are known to hold, and how much of it is there, in pages by uuid.
MATCH (a:Article)
WHERE a.projectId = $project AND a.uuid > $after AND a._sections IS NOT NULL
WITH a ORDER BY a.uuid LIMIT $limit
RETURN a.uuid AS uuid, a.title AS title, a._sections AS sections, COUNT { (a)-[:HAS_SECTION]->(:Section) } AS parts
ORDER BY uuid
