// Which nodes of a page have a relationship of this type, in either direction. Reads only.
MATCH (n:%label%)-[:%type%]-(m)
WHERE offset(id(n)) >= $first AND offset(id(n)) < $last
RETURN DISTINCT offset(id(n)) AS place
