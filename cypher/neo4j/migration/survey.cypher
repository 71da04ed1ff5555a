// What is in the graph, in groups: what each node goes by, which generation of marks it has, which vectors, and of which model;
// and how many of them cannot be decided here (see look). Reads only.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place
WITH n, properties(n) AS p, CASE size(labels(n)) WHEN 1 THEN labels(n)[0] ELSE coalesce(
    head([each IN $ours WHERE each IN labels(n)]),
    reduce(least = head(labels(n)), each IN labels(n) | CASE WHEN each < least THEN each ELSE least END)) END AS label
WHERE NOT coalesce(label IN $bookkeeping, false)
WITH n, p, label, CASE
    WHEN $project IS NOT NULL AND p.projectId <> $project THEN 'other project'
    WHEN p._migratedBy IS NOT NULL THEN 'migrated'
    WHEN p._depth IS NOT NULL AND p._state IN $states THEN 'graphmill'
    WHEN %any g3|p.@ IS NOT NULL% OR (n:File AND p._state IS NOT NULL AND NOT p._state IN $states) THEN 'G3'
    WHEN p._state IS NOT NULL THEN 'G2'
    WHEN %any g1|p.@ IS NOT NULL% OR (n:File AND p.state IS NOT NULL) THEN 'G1'
    WHEN %any g0|p.@ IS NOT NULL% THEN 'G0'
    WHEN %any marks|p.@ IS NOT NULL% THEN 'mapped'
    WHEN label IN $known OR p.uuid IS NOT NULL THEN 'unmarked'
    ELSE 'unknown' END AS generation,
    %any nameVectors|p.@ IS NOT NULL% AS hasName, %any contentVectors|p.@ IS NOT NULL% AS hasContent,
    %any descriptionVectors|p.@ IS NOT NULL% AS hasDescription
WITH n, p, label, generation, hasName, hasContent, hasDescription, p.projectId AS project,
    toStringOrNull(%first provider|p.@%) AS provider, toStringOrNull(%first model|p.@%) AS model,
    CASE WHEN hasName OR hasContent OR hasDescription THEN size(%first vectors|p.@%) END AS dimension,
    coalesce(toStringOrNull(p.uuid), elementId(n)) AS known,
    NOT %any id|coalesce(size(toStringOrNull(p.@)) > 0, false)% AS lacksId,
    CASE WHEN %any hashes|p.@ IS NOT NULL% OR %any vectors|p.@ IS NOT NULL% OR %any chunkCount|p.@ IS NOT NULL% THEN 1 ELSE 0 END AS hashed
RETURN label, generation, hasName, hasContent, hasDescription, project, provider, model, dimension, lacksId, sum(hashed) AS hashed,
    count(*) AS count, min(known) AS least, max(known) AS most,
    coalesce(min(CASE WHEN generation IN ['unknown', 'unmarked'] THEN keys(n) END), []) AS properties
