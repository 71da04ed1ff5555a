// What is wrong with a page of nodes after a migration, and which rule moved how many. Reads only.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place AND ($project IS NULL OR n.projectId IS NULL OR n.projectId = $project)
WITH n, properties(n) AS p, coalesce(
    head([each IN $ours WHERE each IN labels(n)]),
    reduce(least = head(labels(n)), each IN labels(n) | CASE WHEN each < least THEN each ELSE least END)) AS label
WHERE NOT label IN $bookkeeping AND (p._migratedBy IS NOT NULL OR (p._depth IS NULL OR NOT coalesce(p._state IN $states, false))
  AND (label IN $known OR p.uuid IS NOT NULL OR any(mark IN $marks WHERE p[mark] IS NOT NULL)))
WITH n, p, label, p._migratedBy AS rule, toIntegerOrNull(head([each IN $chunkCountIn WHERE p[each] IS NOT NULL | p[each]])) AS chunkCount,
    p._state = 'ready' AND p._migratedBy IN ['7-vectors-complete', '5-leftover-flag'] AS isReady
WITH *, CASE WHEN isReady AND chunkCount > 0
    THEN COUNT { (n)-[r]-(c) WHERE type(r) = $chunkType AND any(each IN $chunkVectorIn WHERE c[each] IS NOT NULL) } END AS chunks
WITH n, p, label, rule, CASE
    WHEN rule IS NULL THEN 'not migrated'
    WHEN NOT coalesce(p._state IN $states, false) THEN 'in no legal state'
    WHEN NOT coalesce(p.uuid IS :: STRING NOT NULL, false) OR p.projectId IS NULL THEN 'without uuid or project'
    WHEN p._depth IS NULL OR NOT p._detectedAt IS :: ZONED DATETIME NOT NULL OR NOT p._stateChangedAt IS :: ZONED DATETIME NOT NULL
        THEN 'without its times'
    WHEN isReady AND label IN $searched AND (p.embedding IS NULL OR size(p.embedding) <> coalesce($dimension, size(p.embedding)))
        THEN 'ready without a vector of the right length'
    WHEN isReady AND coalesce(chunks <> chunkCount, false) THEN 'ready although a chunk is missing'
    WHEN isReady AND any(slot IN $slots WHERE slot.name IN coalesce($needs[label], [])
        AND NOT any(each IN slot.vectors WHERE p[each] IS NOT NULL) AND NOT (slot.chunked AND coalesce(chunkCount > 0, false))
        AND (any(each IN slot.texts WHERE coalesce(size(toStringOrNull(p[each])) >= $shortest, false))
            OR any(each IN slot.hashes WHERE p[each] IS NOT NULL))) THEN 'ready without every vector'
    END AS problem
RETURN rule, label, p._state AS to, problem, count(*) AS count,
    collect(coalesce(toStringOrNull(p.uuid), elementId(n)))[..3] AS examples
