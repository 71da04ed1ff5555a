// How many pieces each section has. Reads only.
MATCH (s:Section)-[:HAS_CHUNK]->(c:Chunk)
RETURN s.section_id AS section, count(*) AS pieces
