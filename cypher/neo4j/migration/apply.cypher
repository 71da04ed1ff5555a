// Moves a page of nodes, in one transaction: what is overwritten is kept under _former_…, what is added is named in
// _migratedAdded, and _migratedBy says which rule it was. Nothing else of a node is changed.
// Parameters: those that `graphmill migrate plan --cypher` prints. $first and $last are ids of nodes: 0 and the largest for all.
// RULES: what a node says of itself, and the first rule that fits. The same lines are in plan, apply and hashed.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place AND n._migratedBy IS NULL AND (n._depth IS NULL OR NOT coalesce(n._state IN $states, false))
  AND ($project IS NULL OR n.projectId IS NULL OR n.projectId = $project)
WITH n, place, properties(n) AS p, coalesce(
    head([each IN $ours WHERE each IN labels(n)]),
    reduce(least = head(labels(n)), each IN labels(n) | CASE WHEN each < least THEN each ELSE least END)) AS label
WHERE NOT label IN $bookkeeping AND (label IN $known OR p.uuid IS NOT NULL OR any(mark IN $marks WHERE p[mark] IS NOT NULL))
WITH n, place, p, label,
    toLower(toStringOrNull(coalesce(
        head([each IN $stateIn WHERE p[each] IS NOT NULL | p[each]]),
        CASE WHEN n:File OR p.stateUpdatedAt IS NOT NULL THEN head([each IN $fileStateIn WHERE p[each] IS NOT NULL | p[each]]) END
    ))) AS word,
    any(each IN $placeholderIn WHERE coalesce(toBooleanOrNull(p[each]), false)) AS isPlaceholder,
    any(each IN $unreadIn WHERE coalesce(toBooleanOrNull(p[each]), false)) AS isUnread,
    any(each IN $dirtyIn WHERE coalesce(toBooleanOrNull(p[each]), false)) AS isDirty,
    any(slot IN $slots WHERE any(each IN slot.vectors WHERE p[each] IS NOT NULL)) AS hasVector,
    toIntegerOrNull(head([each IN $chunkCountIn WHERE p[each] IS NOT NULL | p[each]])) AS chunkCount,
    toStringOrNull(head([each IN $providerIn WHERE p[each] IS NOT NULL | p[each]])) AS provider,
    toStringOrNull(head([each IN $modelIn WHERE p[each] IS NOT NULL | p[each]])) AS model,
    any(each IN $textsIn WHERE coalesce(size(toStringOrNull(p[each])) >= $shortest, false)) AS hasText
WITH *, $words[word] AS goal,
    CASE WHEN chunkCount > 0
        THEN COUNT { (n)-[r]-(c) WHERE type(r) = $chunkType AND any(each IN $chunkVectorIn WHERE c[each] IS NOT NULL
            AND ($dimension IS NULL OR size(c[each]) = $dimension)) }
        ELSE 0 END AS chunks,
    any(each IN $trustedBy WHERE p[each] IS NOT NULL) AND any(each IN $stateIn WHERE p[each] IS NOT NULL) AS isTrusted
WITH *, hasVector OR chunks > 0 AS hasAny,
    any(slot IN $slots WHERE slot.name IN coalesce($needs[label], [])
        AND NOT any(each IN slot.vectors WHERE p[each] IS NOT NULL)
        AND NOT (slot.chunked AND coalesce(chunkCount > 0, false) AND chunks = chunkCount)
        AND (any(each IN slot.texts WHERE coalesce(size(toStringOrNull(p[each])) >= $shortest, false))
            OR any(each IN slot.hashes WHERE p[each] IS NOT NULL)))
        OR (coalesce(chunkCount > 0, false) AND chunks <> chunkCount) AS isIncomplete,
    $dimension IS NOT NULL
        AND any(slot IN $slots WHERE any(each IN slot.vectors WHERE p[each] IS NOT NULL AND size(p[each]) <> $dimension))
        AS isOfOtherLength,
    $model IS NULL OR coalesce(provider, CASE WHEN $assumed THEN $provider END, '') <> $provider
        OR coalesce(model, CASE WHEN $assumed THEN $model END, '') <> $model AS isOfOtherModel
WITH *, CASE
    WHEN isPlaceholder THEN '1-placeholder'
    WHEN isUnread THEN '2-schema-dirty'
    WHEN goal = 'error' THEN '3-error'
    WHEN word IS NOT NULL AND goal IS NULL THEN '10-unknown-word'
    WHEN goal IN ['pending', 'parsed', 'linked'] OR (goal = 'skip' AND (isTrusted OR NOT isDirty)) THEN '4-state-word'
    WHEN isDirty AND NOT (isTrusted AND goal = 'ready') THEN '5-embeddings-dirty'
    WHEN isDirty AND NOT (isIncomplete OR isOfOtherLength OR place IN $stale OR (label IN $searched AND (isOfOtherModel OR NOT hasAny)))
        THEN '5-leftover-flag'
    WHEN hasAny AND (place IN $stale OR isOfOtherModel) THEN '6-stale-vector'
    WHEN hasAny AND NOT isIncomplete AND NOT isOfOtherLength THEN '7-vectors-complete'
    WHEN goal = 'ready' AND NOT hasAny AND NOT isIncomplete AND label IN $wholes THEN '7-vectors-complete'
    WHEN NOT hasAny AND label IN $neverEmbedded THEN '8-nothing-to-embed'
    WHEN NOT hasText THEN '8-nothing-to-embed'
    WHEN EXISTS { (n)--() } THEN '9-structure'
    ELSE '9-no-structure' END AS rule
WITH *, CASE rule
    WHEN '3-error' THEN 'error'
    WHEN '4-state-word' THEN goal
    WHEN '5-embeddings-dirty' THEN 'linked'
    WHEN '5-leftover-flag' THEN 'ready'
    WHEN '6-stale-vector' THEN 'linked'
    WHEN '7-vectors-complete' THEN 'ready'
    WHEN '8-nothing-to-embed' THEN 'skip'
    WHEN '9-structure' THEN 'linked'
    ELSE 'pending' END AS goesTo
// END OF RULES
WITH *, [moment IN [
        head([each IN $detectedIn WHERE p[each] IS NOT NULL | p[each]]),
        head([each IN $changedIn WHERE p[each] IS NOT NULL | p[each]]), p._parsedAt, p._linkedAt, p._embeddedAt
    ] | CASE
        WHEN moment IS NULL THEN null
        WHEN moment IS :: ZONED DATETIME THEN moment
        WHEN moment IS :: LOCAL DATETIME THEN datetime({datetime: moment})
        WHEN moment IS :: DATE THEN datetime({date: moment})
        WHEN moment IS :: INTEGER THEN datetime({epochMillis: moment})
        WHEN moment IS :: STRING THEN CASE WHEN moment =~ $moment THEN datetime(moment) END
    END] AS moments,
    CASE WHEN goesTo = 'ready' AND label IN $searched AND p.embedding IS NULL
        THEN coalesce(
            head([slot IN $slots WHERE slot.chunked | head([each IN slot.vectors WHERE p[each] IS NOT NULL | p[each]])]),
            CASE WHEN chunks = 0 THEN head([slot IN $slots WHERE any(each IN slot.vectors WHERE p[each] IS NOT NULL)
                | head([each IN slot.vectors WHERE p[each] IS NOT NULL | p[each]])]) END) END AS own,
    CASE WHEN goesTo = 'ready' AND label IN $searched AND p.embedding IS NULL AND chunks > 0
        THEN COLLECT { MATCH (n)-[r]-(c) WHERE type(r) = $chunkType
            RETURN head([each IN $chunkVectorIn WHERE c[each] IS NOT NULL | c[each]]) } ELSE [] END AS pieces,
    CASE WHEN (label IN $searched OR goesTo = 'linked') AND p.content IS NULL
        THEN head([each IN $textsIn WHERE p[each] IS NOT NULL | toStringOrNull(p[each])]) END AS text
WITH *, coalesce($ids[toString(place)], head([each IN $idIn WHERE p[each] IS NOT NULL | toStringOrNull(p[each])])) AS uuid,
    coalesce(own, CASE WHEN size(pieces) > 0 THEN
        [i IN range(0, size(pieces[0]) - 1) | reduce(sum = 0.0, piece IN pieces | sum + piece[i]) / size(pieces)] END) AS vector
SET n += {
    _former__state: p._state, _former__stateChangedAt: p._stateChangedAt, _former__depth: p._depth,
    _former__detectedAt: p._detectedAt, _former__retryCount: p._retryCount, _former__errorType: p._errorType,
    _former__errorClass: p._errorClass, _former__errorMessage: p._errorMessage, _former__contentHash: p._contentHash,
    _former__embeddingProvider: p._embeddingProvider, _former__embeddingModel: p._embeddingModel, _former__embeddingHash: p._embeddingHash,
    _former__parsedAt: p._parsedAt, _former__linkedAt: p._linkedAt, _former__embeddedAt: p._embeddedAt,
    _former__leaseOwner: p._leaseOwner, _former__leaseToken: p._leaseToken, _former__leaseUntil: p._leaseUntil,
    _former__notBefore: p._notBefore, _former__runId: p._runId, _former__chunks: p._chunks,
    _former_uuid: CASE WHEN p.uuid <> uuid OR NOT p.uuid IS :: STRING THEN p.uuid END,
    _migratedBy: rule,
    _migratedAdded: [each IN [
        CASE WHEN p.uuid IS NULL THEN 'uuid' END, CASE WHEN p.projectId IS NULL THEN 'projectId' END,
        CASE WHEN p.name IS NULL THEN 'name' END, CASE WHEN text IS NOT NULL THEN 'content' END,
        CASE WHEN p.embedding IS NULL THEN 'embedding' END] WHERE each IS NOT NULL],
    uuid: uuid, projectId: coalesce(p.projectId, $home),
    name: coalesce(p.name, head([each IN $nameIn WHERE p[each] IS NOT NULL | toStringOrNull(p[each])]), uuid),
    content: coalesce(p.content, text), embedding: coalesce(p.embedding, vector),
    _state: goesTo, _depth: 0,
    _detectedAt: coalesce(moments[0], moments[1], $now), _stateChangedAt: coalesce(moments[1], moments[0], $now),
    _parsedAt: moments[2], _linkedAt: moments[3], _embeddedAt: moments[4],
    _retryCount: coalesce(toIntegerOrNull(head([each IN $retriesIn WHERE p[each] IS NOT NULL | p[each]])), 0),
    _errorType: CASE WHEN goesTo = 'error' THEN
        coalesce($errorTypes[toLower(toStringOrNull(head([each IN $errorTypeIn WHERE p[each] IS NOT NULL | p[each]])))], 'parse') END,
    _errorClass: CASE WHEN goesTo = 'error' THEN 'transient' END,
    _errorMessage: CASE WHEN rule = '8-nothing-to-embed' THEN 'there is nothing to embed in it'
        WHEN goesTo IN ['error', 'skip'] THEN toStringOrNull(head([each IN $errorMessageIn WHERE p[each] IS NOT NULL | p[each]])) END,
    _contentHash: head([each IN $contentHashIn WHERE p[each] IS NOT NULL | p[each]]),
    _embeddingProvider: CASE WHEN goesTo = 'ready' AND hasAny THEN coalesce(provider, $provider) END,
    _embeddingModel: CASE WHEN goesTo = 'ready' AND hasAny THEN coalesce(model, $model) END,
    _embeddingHash: CASE WHEN goesTo = 'ready' AND hasAny THEN
        coalesce(head([slot IN $slots WHERE slot.chunked | head([each IN slot.hashes WHERE p[each] IS NOT NULL | p[each]])]), 'migrated') END,
    _leaseOwner: null, _leaseToken: null, _leaseUntil: null, _notBefore: null, _runId: null, _chunks: null
}
RETURN rule, label, goesTo AS to, CASE WHEN word IS NOT NULL AND goal IS NULL THEN word END AS unknown, count(*) AS count, [] AS examples
