// What is in the graph, in groups: what each node goes by, which generation of marks it has, which vectors, and of which model.
// Reads only.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place
WITH n, properties(n) AS p, coalesce(
    head([each IN $ours WHERE each IN labels(n)]),
    reduce(least = head(labels(n)), each IN labels(n) | CASE WHEN each < least THEN each ELSE least END)) AS label
WHERE NOT coalesce(label IN $bookkeeping, false)
WITH n, p, label, CASE
    WHEN $project IS NOT NULL AND p.projectId <> $project THEN 'other project'
    WHEN p._migratedBy IS NOT NULL THEN 'migrated'
    WHEN p._depth IS NOT NULL AND p._state IN $states THEN 'graphmill'
    WHEN any(each IN $marksOfG3 WHERE p[each] IS NOT NULL) OR (n:File AND p._state IS NOT NULL AND NOT p._state IN $states) THEN 'G3'
    WHEN p._state IS NOT NULL THEN 'G2'
    WHEN any(each IN $marksOfG1 WHERE p[each] IS NOT NULL) OR (n:File AND p.state IS NOT NULL) THEN 'G1'
    WHEN any(each IN $marksOfG0 WHERE p[each] IS NOT NULL) THEN 'G0'
    WHEN any(each IN $marks WHERE p[each] IS NOT NULL) THEN 'mapped'
    WHEN label IN $known OR p.uuid IS NOT NULL THEN 'unmarked'
    ELSE 'unknown' END AS generation
WITH n, p, label, generation, [slot IN $slots | head([each IN slot.vectors WHERE p[each] IS NOT NULL | each])] AS held
WITH label, generation, size(labels(n)) > 1 AS several, p.projectId AS project,
    [i IN range(0, size($slots) - 1) WHERE held[i] IS NOT NULL | $slots[i].name] AS vectors,
    head([each IN held WHERE each IS NOT NULL | size(p[each])]) AS dimension,
    toStringOrNull(head([each IN $providerIn WHERE p[each] IS NOT NULL | p[each]])) AS provider,
    toStringOrNull(head([each IN $modelIn WHERE p[each] IS NOT NULL | p[each]])) AS model, n, p
RETURN label, generation, several, project, vectors, dimension, provider, model, count(*) AS count,
    collect(coalesce(toStringOrNull(p.uuid), elementId(n)))[..3] AS examples,
    CASE WHEN generation IN ['unknown', 'unmarked'] THEN reduce(all = [], each IN collect(keys(n))[..3] | all + each) ELSE [] END AS properties
