// Takes the old marks and what a rollback would need away from a page of nodes; $gone and $goneFromFiles have null for each.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place AND n._migratedBy IS NOT NULL AND ($project IS NULL OR n.projectId = $project)
WITH n, n._migratedBy AS rule, n.projectId AS project, CASE size(labels(n)) WHEN 1 THEN labels(n)[0] ELSE coalesce(
    head([each IN $ours WHERE each IN labels(n)]),
    reduce(least = head(labels(n)), each IN labels(n) | CASE WHEN each < least THEN each ELSE least END)) END AS label
SET n += {
    %each bookkeeping|_former_@: null%, %each articleMarks|_former_@: null%, _former_embedding: null,
    _former_uuid: null, _migratedBy: null, _migratedAdded: null
}, n += $gone
FOREACH (_ IN CASE WHEN n:File OR n.stateUpdatedAt IS NOT NULL THEN [1] ELSE [] END | SET n += $goneFromFiles)
RETURN rule, label, 'final' AS to, project, -count(*) AS count
