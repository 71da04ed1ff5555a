// The words that were not known, as the nodes had them. Reads only.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place AND n._migratedBy IS NOT NULL AND ($project IS NULL OR n.projectId = $project)
  AND n._migratedBy = '10-unknown-word'
RETURN toLower(toStringOrNull(coalesce(n._former__state, %first state|CASE WHEN '@' <> '_state' THEN n.@ END%, %first fileState|n.@%))) AS word,
    count(*) AS count
