// What articles link to, as JSON.
UNWIND $uuids AS wanted
MATCH (a:Article {uuid: wanted}) WHERE a.projectId = $project
RETURN a.uuid AS uuid, a._links AS links
