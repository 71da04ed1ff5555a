// What a node says of itself, and the first rule that fits: a part of plan, look and apply.
// $first and $last are ids of nodes: 0 and the largest for all. A project with vectors of its own keeps no others: $spaces.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place AND n._migratedBy IS NULL AND (n._depth IS NULL OR NOT coalesce(n._state IN $states, false))
  AND ($project IS NULL OR n.projectId IS NULL OR n.projectId = $project)
WITH n, place, properties(n) AS p, CASE size(labels(n)) WHEN 1 THEN labels(n)[0] ELSE coalesce(
    head([each IN $ours WHERE each IN labels(n)]),
    reduce(least = head(labels(n)), each IN labels(n) | CASE WHEN each < least THEN each ELSE least END)) END AS label
WHERE NOT label IN $bookkeeping AND (label IN $known OR p.uuid IS NOT NULL OR %any marks|p.@ IS NOT NULL%)
WITH n, place, p, label, coalesce($needs[label], []) AS needed,
    toLower(toStringOrNull(coalesce(%first state|p.@%,
        CASE WHEN n:File OR p.stateUpdatedAt IS NOT NULL THEN %first fileState|p.@% END))) AS word,
    %any dirty|coalesce(toBooleanOrNull(p.@), false)% AS isDirty,
    %any vectors|p.@ IS NOT NULL% AS hasVector,
    coalesce(toIntegerOrNull(%first chunkCount|p.@%), 0) AS chunkCount
WITH *, $words[word] AS goal,
    coalesce($spaces[toString(coalesce(p.projectId, $home))], {provider: $provider, model: $model, dimension: $dimension}) AS space
WITH *,
    CASE WHEN chunkCount > 0
        THEN COUNT { (n)-[r]-(c) WHERE type(r) = $chunkType AND %any contentVectors|(c.@ IS NOT NULL AND (space.dimension IS NULL OR size(c.@) = space.dimension))% }
        ELSE 0 END AS chunks
WITH *, hasVector OR chunks > 0 AS hasAny,
    %any trustedBy|p.@ IS NOT NULL% AND %any state|p.@ IS NOT NULL% AS isTrusted,
    (chunkCount > 0 AND chunks <> chunkCount)
        OR ('content' IN needed AND chunkCount <= 0 AND NOT %any contentVectors|p.@ IS NOT NULL%
            AND (%any contentTexts|coalesce(size(toStringOrNull(p.@)) >= $shortest, false)% OR %any contentHashes|p.@ IS NOT NULL%))
        OR ('name' IN needed AND NOT %any nameVectors|p.@ IS NOT NULL%
            AND (%any nameTexts|coalesce(size(toStringOrNull(p.@)) >= $shortest, false)% OR %any nameHashes|p.@ IS NOT NULL%))
        OR ('description' IN needed AND NOT %any descriptionVectors|p.@ IS NOT NULL%
            AND (%any descriptionTexts|coalesce(size(toStringOrNull(p.@)) >= $shortest, false)% OR %any descriptionHashes|p.@ IS NOT NULL%))
        AS isIncomplete,
    hasVector AND space.dimension IS NOT NULL AND %any vectors|coalesce(size(p.@) <> space.dimension, false)% AS isOfOtherLength
WITH *, hasAny AND (space.model IS NULL
    OR coalesce(toStringOrNull(%first provider|p.@%), CASE WHEN $assumed THEN $provider END, '') <> space.provider
    OR coalesce(toStringOrNull(%first model|p.@%), CASE WHEN $assumed THEN $model END, '') <> space.model) AS isOfOtherModel
WITH *, CASE
    WHEN %any placeholder|coalesce(toBooleanOrNull(p.@), false)% THEN '1-placeholder'
    WHEN %any unread|coalesce(toBooleanOrNull(p.@), false)% THEN '2-schema-dirty'
    WHEN goal = 'error' THEN '3-error'
    WHEN word IS NOT NULL AND goal IS NULL THEN '10-unknown-word'
    WHEN goal IN ['pending', 'parsed', 'linked'] OR (goal = 'skip' AND (isTrusted OR NOT isDirty)) THEN '4-state-word'
    WHEN isDirty AND NOT (isTrusted AND coalesce(goal = 'ready', false)) THEN '5-embeddings-dirty'
    WHEN isDirty AND NOT (isIncomplete OR isOfOtherLength OR place IN $stale OR (label IN $searched AND (isOfOtherModel OR NOT hasAny)))
        THEN '5-leftover-flag'
    WHEN hasAny AND (place IN $stale OR isOfOtherModel) THEN '6-stale-vector'
    WHEN hasAny AND NOT isIncomplete AND NOT isOfOtherLength THEN '7-vectors-complete'
    WHEN goal = 'ready' AND NOT hasAny AND NOT isIncomplete AND label IN $wholes THEN '7-vectors-complete'
    WHEN NOT hasAny AND label IN $neverEmbedded THEN '8-nothing-to-embed'
    WHEN NOT %any texts|coalesce(size(toStringOrNull(p.@)) >= $shortest, false)% THEN '8-nothing-to-embed'
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
