// The nodes of a label by their place in the table, a page at a time. Reads only.
MATCH (n:%label%)
WHERE offset(id(n)) >= $first AND offset(id(n)) < $last
RETURN offset(id(n)) AS `_place`, %[n.`%column%` AS `%column%`]%
