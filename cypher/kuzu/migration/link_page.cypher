// What a page of articles links to. Reads only.
MATCH (a:Article)-[l:LINKS_TO]->(b:Article)
WHERE offset(id(a)) >= $first AND offset(id(a)) < $last
RETURN a.title AS source, b.title AS target%[, |l.`%column%` AS `%column%`]%
