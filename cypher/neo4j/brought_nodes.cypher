// Which properties the nodes of a label have, and of which types.
MATCH (n:%label%)
WHERE n.projectId = $project AND n._state IS NOT NULL
UNWIND [each IN keys(n) WHERE each <> 'embedding'] AS name
RETURN DISTINCT labels(n) AS labels, name, valueType(n[name]) AS type
