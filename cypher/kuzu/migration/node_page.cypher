// The nodes of a label by their place in the table, a page at a time. Reads only.
MATCH (n:%label%)
WHERE offset(id(n)) >= $first AND offset(id(n)) < $last
RETURN %[n.`%column%` AS `%column%`]%
