// How many relationships have something in a column.
MATCH (a:%source%)-[r:%type%]->(b:%target%)
WHERE a.projectId = $project AND b.projectId = $project AND r.`%column%` IS NOT NULL
RETURN count(*)
