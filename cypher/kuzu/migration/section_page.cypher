// The sections of a page of articles, by the place of their article. Reads only.
MATCH (a:Article)-[h:HAS_SECTION]->(s:Section)
WHERE offset(id(a)) >= $first AND offset(id(a)) < $last
RETURN offset(id(a)) AS `_place`, %[s.`%column%` AS `%column%`]%%[, |h.`%property%` AS `edge_%property%`]%
