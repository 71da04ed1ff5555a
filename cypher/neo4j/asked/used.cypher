// Whether the database has anything in it, for the project or for somebody else; no row where it is empty.
MATCH (n) WITH n LIMIT 1
RETURN $project AS project, count(n) AS count
