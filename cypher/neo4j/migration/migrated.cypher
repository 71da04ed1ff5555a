// How many nodes are as a migration left them or a worker has gone on with them, by label. Reads only.
MATCH (n)
WHERE n._migratedBy IS NOT NULL AND ($project IS NULL OR n.projectId = $project)
WITH CASE size(labels(n)) WHEN 1 THEN labels(n)[0] ELSE coalesce(
    head([each IN $ours WHERE each IN labels(n)]),
    reduce(least = head(labels(n)), each IN labels(n) | CASE WHEN each < least THEN each ELSE least END)) END AS label
RETURN label, count(*) AS count
