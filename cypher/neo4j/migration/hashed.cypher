// The nodes that are ready with a stored hash, to compare it with that of the text. Reads only.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place AND n._migratedBy IS NOT NULL AND ($project IS NULL OR n.projectId = $project)
  AND n._state = 'ready' AND %any hashes|n.@ IS NOT NULL%
WITH n, 'content' IN n._migratedAdded AS added
RETURN n.uuid AS uuid, [each IN [
    {hash: toStringOrNull(%first nameHashes|n.@%), texts: [%each nameTexts|toStringOrNull(n.@)%]},
    {hash: toStringOrNull(%first contentHashes|n.@%), texts: [%each contentTexts|CASE WHEN NOT (added AND '@' = 'content') THEN toStringOrNull(n.@) END%]},
    {hash: toStringOrNull(%first descriptionHashes|n.@%), texts: [%each descriptionTexts|toStringOrNull(n.@)%]}
] WHERE each.hash IS NOT NULL] AS hashed
