// How many vectors of which length are in a column. Reads only.
MATCH (n:%label%)
WHERE n.`%column%` IS NOT NULL
RETURN size(n.`%column%`) AS length, count(*) AS count
