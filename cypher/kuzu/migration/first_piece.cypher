// Whether a relationship leads from a section to a piece of it. Reads only.
MATCH (s:Section)-[:HAS_CHUNK]->(c:Chunk)
RETURN 1 AS there LIMIT 1
