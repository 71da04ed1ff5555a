MATCH (n:%label%) WHERE offset(id(n)) >= $first AND offset(id(n)) < $beyond AND n.projectId = $project
RETURN %[n.`%column%` AS `%column%`]%
