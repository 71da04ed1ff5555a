// Which relationships go out of the nodes of a label, with which properties of which types.
MATCH (n:%label%)-[r]->(m)
WHERE n.projectId = $project AND n._state IS NOT NULL AND m.projectId = $project AND m._state IS NOT NULL
UNWIND CASE WHEN size(keys(r)) = 0 THEN [null] ELSE keys(r) END AS name
RETURN DISTINCT labels(n) AS source, type(r) AS edge, labels(m) AS target, name, valueType(r[name]) AS type
