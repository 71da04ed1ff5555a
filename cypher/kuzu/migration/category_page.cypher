// The categories that a page of articles is in. Reads only.
MATCH (a:Article)-[l:IN_CATEGORY]->(c:Category)
WHERE offset(id(a)) >= $first AND offset(id(a)) < $last
RETURN offset(id(a)) AS `_place`, c.name AS `_to`%[, |l.`%column%` AS `%column%`]%
