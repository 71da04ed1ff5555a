// Whether the database has nodes beside the bookkeeping, of the project or of another; no row where it has none.
MATCH (n)
WHERE NOT starts_with(label(n), 'Graphmill')
RETURN $project AS project, count(*) AS count
