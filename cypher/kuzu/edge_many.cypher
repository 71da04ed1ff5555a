// Matching one end before the other is named keeps the engine from building every pair.
LOAD FROM $rows
MATCH (a:%source%) WHERE a.uuid = source AND a.projectId = $project
WITH a, target %[, |v_%property%]%
MATCH (b:%target%) WHERE b.uuid = target AND b.projectId = $project
MERGE (a)-[r:%type%]->(b) %[SET |r.`%property%` = v_%property%]%
RETURN count(*)
