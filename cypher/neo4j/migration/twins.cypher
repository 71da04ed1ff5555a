// Of nodes with the same uuid all but the first, by label.
MATCH (n:%label%)
WHERE n.uuid IS NOT NULL
WITH n.uuid AS uuid, count(*) AS count, collect(id(n)) AS places
WHERE count > 1
UNWIND places AS place
WITH uuid, place ORDER BY place
WITH uuid, collect(place)[1..] AS others
UNWIND others AS place
RETURN place
