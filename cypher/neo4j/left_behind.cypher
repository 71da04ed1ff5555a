// How many nodes no copy of the project has, by their first label: nodes of no project, and nodes of the project under no label with states.
MATCH (n)
WHERE (n.projectId IS NULL OR (n.projectId = $project AND none(label IN labels(n) WHERE label IN $labels)))
    AND none(label IN labels(n) WHERE label STARTS WITH 'Graphmill')
WITH reduce(least = head(labels(n)), each IN labels(n) | CASE WHEN each < least THEN each ELSE least END) AS label
RETURN coalesce(label, '(no label)') AS label, count(*) AS count ORDER BY label
