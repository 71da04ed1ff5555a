// The articles that most others link to.
MATCH (a:Article)-[:LINKS_TO]->(b:Article)
WHERE a.projectId = $project
RETURN b.title AS article, count(a) AS linkedFrom
ORDER BY linkedFrom DESC, article
LIMIT 10
