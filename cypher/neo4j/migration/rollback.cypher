// Puts a page of nodes back as they were: what was overwritten from _former_…, what was added goes.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place AND n._migratedBy IS NOT NULL AND ($project IS NULL OR n.projectId = $project)
WITH n, properties(n) AS p, coalesce(n._migratedAdded, []) AS added, CASE size(labels(n)) WHEN 1 THEN labels(n)[0] ELSE coalesce(
    head([each IN $ours WHERE each IN labels(n)]),
    reduce(least = head(labels(n)), each IN labels(n) | CASE WHEN each < least THEN each ELSE least END)) END AS label
SET n += {
    uuid: CASE WHEN 'uuid' IN added THEN null ELSE coalesce(p._former_uuid, p.uuid) END,
    projectId: CASE WHEN 'projectId' IN added THEN null ELSE p.projectId END,
    name: CASE WHEN 'name' IN added THEN null ELSE p.name END,
    content: CASE WHEN 'content' IN added THEN null ELSE p.content END,
    embedding: CASE WHEN 'embedding' IN added THEN null ELSE p.embedding END,
    _state: p._former__state, _stateChangedAt: p._former__stateChangedAt, _depth: p._former__depth,
    _detectedAt: p._former__detectedAt, _retryCount: p._former__retryCount, _errorType: p._former__errorType,
    _errorClass: p._former__errorClass, _errorMessage: p._former__errorMessage, _contentHash: p._former__contentHash,
    _embeddingProvider: p._former__embeddingProvider, _embeddingModel: p._former__embeddingModel, _embeddingHash: p._former__embeddingHash,
    _parsedAt: p._former__parsedAt, _linkedAt: p._former__linkedAt, _embeddedAt: p._former__embeddedAt,
    _leaseOwner: p._former__leaseOwner, _leaseToken: p._former__leaseToken, _leaseUntil: p._former__leaseUntil,
    _notBefore: p._former__notBefore, _runId: p._former__runId, _chunks: p._former__chunks,
    _former__state: null, _former__stateChangedAt: null, _former__depth: null, _former__detectedAt: null, _former__retryCount: null,
    _former__errorType: null, _former__errorClass: null, _former__errorMessage: null, _former__contentHash: null, _former__embeddingProvider: null,
    _former__embeddingModel: null, _former__embeddingHash: null, _former__parsedAt: null, _former__linkedAt: null, _former__embeddedAt: null,
    _former__leaseOwner: null, _former__leaseToken: null, _former__leaseUntil: null, _former__notBefore: null, _former__runId: null,
    _former__chunks: null,
    _former_uuid: null, _migratedBy: null, _migratedAdded: null
}
RETURN p._migratedBy AS rule, label, 'as before' AS to, p.projectId AS project, -count(*) AS count
