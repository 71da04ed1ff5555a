// Takes the old marks and what a rollback would need away from a page of nodes; $gone and $goneFromFiles have null for each.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place AND n._migratedBy IS NOT NULL AND ($project IS NULL OR n.projectId = $project)
WITH n, n._migratedBy AS rule, n.projectId AS project, CASE size(labels(n)) WHEN 1 THEN labels(n)[0] ELSE coalesce(
    head([each IN $ours WHERE each IN labels(n)]),
    reduce(least = head(labels(n)), each IN labels(n) | CASE WHEN each < least THEN each ELSE least END)) END AS label
SET n += {
    _former__state: null, _former__stateChangedAt: null, _former__depth: null, _former__detectedAt: null, _former__retryCount: null,
    _former__errorType: null, _former__errorClass: null, _former__errorMessage: null, _former__contentHash: null, _former__embeddingProvider: null,
    _former__embeddingModel: null, _former__embeddingHash: null, _former__parsedAt: null, _former__linkedAt: null, _former__embeddedAt: null,
    _former__leaseOwner: null, _former__leaseToken: null, _former__leaseUntil: null, _former__notBefore: null, _former__runId: null,
    _former__chunks: null,
    _former_uuid: null, _migratedBy: null, _migratedAdded: null
}, n += $gone
FOREACH (_ IN CASE WHEN n:File OR n.stateUpdatedAt IS NOT NULL THEN [1] ELSE [] END | SET n += $goneFromFiles)
RETURN rule, label, 'final' AS to, project, -count(*) AS count
