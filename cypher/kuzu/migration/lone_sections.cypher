// The sections that are of no article. Reads only.
MATCH (s:Section)
WHERE offset(id(s)) >= $first AND offset(id(s)) < $last AND NOT EXISTS { MATCH (a:Article)-[:HAS_SECTION]->(s) }
RETURN %[s.`%column%` AS `%column%`]%
