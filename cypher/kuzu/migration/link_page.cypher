// What a page of articles links to. Reads only.
MATCH (a:Article)-[l:LINKS_TO]->(b:Article)
WHERE offset(id(a)) >= $first AND offset(id(a)) < $last
RETURN offset(id(a)) AS `_place`, b.title AS `_to`%[, |l.`%column%` AS `%column%`]%
