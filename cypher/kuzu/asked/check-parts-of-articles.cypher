// What articles are known to hold, and how much of it is there, in pages by uuid.
MATCH (a:Article)
WHERE a.projectId = $project AND a.uuid > $after AND a._sections IS NOT NULL
RETURN a.uuid AS uuid, a.title AS title, a._sections AS sections, COUNT { MATCH (a)-[:HAS_SECTION]->(:Section) } AS parts
ORDER BY uuid LIMIT $limit
