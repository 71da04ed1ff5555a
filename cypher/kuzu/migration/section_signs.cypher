// What decides of the sections of a page of articles. Reads only.
MATCH (a:Article)-[h:HAS_SECTION]->(s:Section)
WHERE offset(id(a)) >= $first AND offset(id(a)) < $last
RETURN offset(id(a)) AS `_place`, s.embedding IS NOT NULL AS has_vector, %[s.`%column%` AS `%column%`]%%[, |h.`%property%` AS `edge_%property%`]%
