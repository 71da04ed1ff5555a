// What articles link to, as JSON.
UNWIND $uuids AS wanted
MATCH (a:Article) WHERE a.uuid = wanted AND a.projectId = $project
RETURN a.uuid AS uuid, a._links AS links
