// The categories that a page of articles is in. Reads only.
MATCH (a:Article)-[:IN_CATEGORY]->(c:Category)
WHERE offset(id(a)) >= $first AND offset(id(a)) < $last
RETURN a.title AS source, c.name AS target
