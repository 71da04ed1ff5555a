// With the properties inside: setting one of an edge that was just made reads all edges of its source.
LOAD FROM $rows
MATCH (a:%source%) WHERE a.uuid = source AND a.projectId = $project
WITH a, target %[, |v_%property%]%
MATCH (b:%target%) WHERE b.uuid = target AND b.projectId = $project
CREATE (a)-[:%type% {%[`%property%`: v_%property%]%}]->(b)
RETURN count(*)
