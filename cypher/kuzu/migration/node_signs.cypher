// How many nodes of a label have something in a column, and how many have not. Reads only.
MATCH (n:%label%)
RETURN n.`%column%` IS NOT NULL AS has_vector, count(*) AS count
