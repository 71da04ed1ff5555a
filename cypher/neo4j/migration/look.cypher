// The nodes that cannot be decided here: where a stored hash has to be compared with that of the text (there is no sha256 in
// Cypher), and those without an id that could be their uuid. Reads only; what comes of it are $stale and $ids of apply.
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
WITH n, place, p, label, [each IN $idIn WHERE coalesce(size(toStringOrNull(p[each])) > 0, false)] AS ids,
    hasAny AND rule IN ['5-leftover-flag', '7-vectors-complete', '8-nothing-to-embed', '9-structure', '9-no-structure'] AS isDecided
WITH *, size(ids) = 0 OR place IN $twins AS lacksId, CASE WHEN isDecided THEN
    [slot IN $slots WHERE any(each IN slot.hashes WHERE p[each] IS NOT NULL) | {
        hash: toStringOrNull(head([each IN slot.hashes WHERE p[each] IS NOT NULL | p[each]])),
        texts: [each IN slot.texts WHERE p[each] IS NOT NULL | toStringOrNull(p[each])]
    }] ELSE [] END AS hashed
WHERE lacksId OR size(hashed) > 0
RETURN place, label, lacksId, hashed, CASE WHEN lacksId THEN
    [each IN keys(n) WHERE NOT each STARTS WITH '_' AND NOT each IN $marks | [each, toStringOrNull(p[each])]] END AS said
