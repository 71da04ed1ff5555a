// A type of relationship that goes more than once from one node to another.
MATCH (n:%label%)-[r]->(m)
WHERE n.projectId = $project AND n._state IS NOT NULL AND m.projectId = $project AND m._state IS NOT NULL
WITH n, m, type(r) AS edge, count(*) AS count
WHERE count > 1
RETURN edge, count(*) AS count
