// The pieces of texts by their place in the table. Reads only.
MATCH (n:%label%)
WHERE offset(id(n)) >= $first AND offset(id(n)) < $last
RETURN n.embedding IS NOT NULL AS has_vector, %[n.`%column%` AS `%column%`]%
