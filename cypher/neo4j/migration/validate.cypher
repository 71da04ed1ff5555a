// What is wrong with a page of nodes after a migration, and which rule moved how many. Reads only.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place AND ($project IS NULL OR n.projectId IS NULL OR n.projectId = $project)
WITH n, properties(n) AS p, CASE size(labels(n)) WHEN 1 THEN labels(n)[0] ELSE coalesce(
    head([each IN $ours WHERE each IN labels(n)]),
    reduce(least = head(labels(n)), each IN labels(n) | CASE WHEN each < least THEN each ELSE least END)) END AS label
WHERE NOT label IN $bookkeeping AND (p._migratedBy IS NOT NULL OR (p._depth IS NULL OR NOT coalesce(p._state IN $states, false))
  AND (label IN $known OR p.uuid IS NOT NULL OR %any marks|p.@ IS NOT NULL%))
WITH n, p, label, p._migratedBy AS rule, coalesce(toIntegerOrNull(%first chunkCount|p.@%), 0) AS chunkCount, coalesce($needs[label], []) AS needed,
    coalesce(p._migratedAdded, []) AS added,
    p._state = 'ready' AND p._migratedBy IN ['7-vectors-complete', '5-leftover-flag'] AS isReady
WITH *, CASE
    WHEN rule IS NULL THEN 'not migrated'
    WHEN NOT coalesce(p._state IN $states, false) THEN 'in no legal state'
    WHEN NOT coalesce(p.uuid IS :: STRING NOT NULL, false) OR p.projectId IS NULL THEN 'without uuid or project'
    WHEN p._depth IS NULL OR NOT p._detectedAt IS :: ZONED DATETIME NOT NULL OR NOT p._stateChangedAt IS :: ZONED DATETIME NOT NULL
        THEN 'without its times'
    WHEN NOT isReady THEN null
    WHEN label IN $searched AND (p.embedding IS NULL OR size(p.embedding) <> coalesce($spaces[toString(p.projectId)].dimension, $dimension, size(p.embedding)))
        THEN 'ready without a vector of the right length'
    WHEN chunkCount > 0 AND COUNT { (n)-[r]-(c) WHERE type(r) = $chunkType AND %any contentVectors|c.@ IS NOT NULL% } <> chunkCount
        THEN 'ready although a chunk is missing'
    WHEN ('content' IN needed AND chunkCount <= 0 AND NOT %any contentVectors|p.@ IS NOT NULL%
            AND (%any contentTexts|(NOT '@' IN added AND coalesce(size(toStringOrNull(p.@)) >= $shortest, false))% OR %any contentHashes|p.@ IS NOT NULL%))
        OR ('name' IN needed AND NOT %any nameVectors|p.@ IS NOT NULL%
            AND (%any nameTexts|(NOT '@' IN added AND coalesce(size(toStringOrNull(p.@)) >= $shortest, false))% OR %any nameHashes|p.@ IS NOT NULL%))
        OR ('description' IN needed AND NOT %any descriptionVectors|p.@ IS NOT NULL%
            AND (%any descriptionTexts|(NOT '@' IN added AND coalesce(size(toStringOrNull(p.@)) >= $shortest, false))% OR %any descriptionHashes|p.@ IS NOT NULL%))
        THEN 'ready without every vector'
    END AS problem, coalesce(toStringOrNull(p.uuid), elementId(n)) AS known
RETURN rule, label, p.projectId AS project, p._state AS to, problem, count(*) AS count, min(known) AS least, max(known) AS most
