// What is in a column of more than one node. Reads only.
MATCH (n:%label%)
WITH n.`%column%` AS value, count(*) AS times
WHERE value IS NOT NULL AND times > 1
RETURN value, times LIMIT 1
