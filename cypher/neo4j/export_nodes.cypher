MATCH (n:%label%)
WHERE n.projectId = $project
RETURN labels(n) AS labels, properties(n) AS properties
