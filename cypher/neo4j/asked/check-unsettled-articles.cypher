// Articles that are ready although something in them is not at rest.
MATCH (a:Article)
WHERE a.projectId = $project AND a.uuid > $after AND a._state = 'ready'
  AND EXISTS { MATCH (a)-[:HAS_SECTION]->(s:Section) WHERE NOT s._state IN $resting }
RETURN a.uuid AS uuid, 'Article' AS label, a.title AS found
ORDER BY uuid LIMIT $limit
