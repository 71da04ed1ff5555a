MATCH (n:%label%) WHERE n.uuid = $uuid AND n.projectId = $project
SET %[n.`%property%` = $v_%property%]%
RETURN n.uuid
