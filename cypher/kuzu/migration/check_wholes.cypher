// Articles that are ready although a section is not at rest. Reads only.
MATCH (a:Article)-[:HAS_SECTION]->(s:Section)
WHERE a._migratedBy IS NOT NULL AND a._state = 'ready' AND NOT s._state IN ['ready', 'skip', 'error']
RETURN DISTINCT a.uuid AS uuid
