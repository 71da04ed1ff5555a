// Whether the database has nodes beside the bookkeeping, of the project or of another; no row where it has none.
MATCH (n)
WHERE none(label IN labels(n) WHERE label STARTS WITH 'Graphmill')
WITH n LIMIT 1
RETURN $project AS project, count(n) AS count
