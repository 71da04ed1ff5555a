// How many nodes name which provider and model. Reads only.
MATCH (n:%label%)
WHERE n.`%column%` IS NOT NULL AND n.`%other%` IS NOT NULL
RETURN n.`%column%` AS provider, n.`%other%` AS model, count(*) AS count
