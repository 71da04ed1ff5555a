// How many nodes have something in a column.
MATCH (n:%label%) WHERE n.projectId = $project AND n.`%column%` IS NOT NULL RETURN count(*)
