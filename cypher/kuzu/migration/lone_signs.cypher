// How many sections of no article have a vector, and how many have none. Reads only.
MATCH (s:Section)
WHERE NOT EXISTS { MATCH (a:Article)-[:HAS_SECTION]->(s) }
RETURN s.`%column%` IS NOT NULL AS has_vector, count(*) AS count
