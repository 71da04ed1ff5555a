// Not DETACH DELETE: its log, replayed, takes edges of others away with a node that has none left. And by both ends: a
// deletion that looks for the edges by itself may crash the engine after a checkpoint.
LOAD FROM $rows
MATCH (a:%source%) WHERE a.uuid = source AND a.projectId = $project
WITH a, target
MATCH (a)-[r:%type%]->(b:%target%) WHERE b.uuid = target
DELETE r
