// How many sections of each article are in error.
MATCH (a:Article)-[:HAS_SECTION]->(s:Section)
WHERE a.projectId = $project AND s._state = 'error'
RETURN a.uuid AS uuid, count(*) AS count
