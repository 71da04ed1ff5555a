// How many pairs of nodes have more than one such relationship between them.
MATCH (a:%source%)-[r:%type%]->(b:%target%)
WHERE a.projectId = $project AND b.projectId = $project
WITH a.uuid AS source, b.uuid AS target, count(*) AS count
WHERE count > 1
RETURN count(*)
