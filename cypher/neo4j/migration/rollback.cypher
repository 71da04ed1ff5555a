// Puts a page of nodes back as they were: what was overwritten from _former_…, what was added goes, and so do the pieces that a
// worker has cut their texts into.
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
    embedding: CASE WHEN 'embedding' IN added THEN null ELSE coalesce(p._former_embedding, p.embedding) END,
    %each articleMarks|@: CASE WHEN '@' IN added THEN null ELSE coalesce(p._former_@, p.@) END%,
    %each bookkeeping|@: p._former_@%, %each bookkeeping|_former_@: null%, %each articleMarks|_former_@: null%,
    _former_embedding: null, _former_uuid: null, _migratedBy: null, _migratedAdded: null
}
WITH n, p, label
CALL (n) {
    MATCH (n)-[:HAS_CHUNK]->(c:Chunk)
    WHERE c._migratedBy IS NULL AND c._depth IS NOT NULL
    DETACH DELETE c
    RETURN count(*) AS pieces
}
RETURN p._migratedBy AS rule, label, 'as before' AS to, p.projectId AS project, -count(*) AS count, sum(pieces) AS pieces
