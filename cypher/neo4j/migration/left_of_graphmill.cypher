// Whether anything but the bookkeeping of a database is graphmill's own: a node with a state that no migration gave it.
MATCH (n)
WHERE n._depth IS NOT NULL AND n._state IS NOT NULL AND n._migratedBy IS NULL
WITH n LIMIT 1
RETURN count(*) AS count
