MATCH (a:%source%)-[r:%type%]->(b:%target%)
WHERE offset(id(a)) >= $first AND offset(id(a)) < $beyond AND a.projectId = $project AND b.projectId = $project
RETURN a.uuid AS source, b.uuid AS target %[, |r.`%column%` AS `v_%column%`]%
