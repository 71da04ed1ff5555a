// By label, or all relationships of the database would be read once per label.
MATCH (a:%label%)-[r]->(b)
USING SCAN a:%label%
WHERE a.projectId = $project AND b.projectId = $project
RETURN type(r) AS type, labels(a) AS sourceLabels, a.uuid AS source, labels(b) AS targetLabels, b.uuid AS target,
    properties(r) AS properties
