MATCH (n:%label%) WHERE n.uuid = $uuid AND n.projectId = $project
RETURN n.uuid %[, |n.`%column%`]%
