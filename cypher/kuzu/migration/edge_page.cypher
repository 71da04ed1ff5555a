// The relationships of one type from a page of nodes, with the keys of both ends. Reads only.
MATCH (a:%source%)-[r:%type%]->(b:%target%)
WHERE offset(id(a)) >= $first AND offset(id(a)) < $last
RETURN a.`%sourceKey%` AS `_from`, b.`%targetKey%` AS `_to`%[, |r.`%column%` AS `%column%`]%
