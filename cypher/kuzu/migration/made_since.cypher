// How many nodes of a table no migration has moved.
MATCH (n:%label%)
WHERE n._migratedBy IS NULL
RETURN count(*)
