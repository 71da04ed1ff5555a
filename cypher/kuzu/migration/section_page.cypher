// The sections of a page of articles. Reads only.
MATCH (a:Article)-[h:HAS_SECTION]->(s:Section)
WHERE offset(id(a)) >= $first AND offset(id(a)) < $last
RETURN a.title AS article, h.section_index AS section_index, s.embedding IS NOT NULL AS has_vector, %[s.`%column%` AS `%column%`]%
