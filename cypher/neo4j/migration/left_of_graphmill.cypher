// Whether anything but the bookkeeping of a database is graphmill's: a node with a state and a depth.
MATCH (n)
WHERE n._depth IS NOT NULL AND n._state IS NOT NULL
WITH n LIMIT 1
RETURN count(*) AS count
