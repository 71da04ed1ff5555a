// The words that were not known, as the nodes had them. Reads only.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place AND n._migratedBy IS NOT NULL AND ($project IS NULL OR n.projectId = $project)
  AND n._migratedBy = '10-unknown-word'
RETURN toLower(toStringOrNull(coalesce(n._former__state, head([each IN $stateIn WHERE each <> '_state' AND n[each] IS NOT NULL | n[each]]),
    head([each IN $fileStateIn WHERE n[each] IS NOT NULL | n[each]])))) AS word, count(*) AS count
