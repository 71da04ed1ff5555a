// Which rule moved how many nodes of a label, and where they are now. Reads only.
MATCH (n:%label%)
WHERE n._migratedBy IS NOT NULL
RETURN n._migratedBy AS rule, n._state AS to, count(*) AS count
