// The nodes that are ready with a stored hash, to compare it with that of the text. Reads only.
UNWIND range($first, $last) AS place
MATCH (n)
WHERE id(n) = place AND n._migratedBy IS NOT NULL AND ($project IS NULL OR n.projectId = $project)
  AND n._state = 'ready'
WITH place, properties(n) AS p
WITH place, p, [slot IN $slots WHERE any(each IN slot.hashes WHERE p[each] IS NOT NULL) | {
        hash: toStringOrNull(head([each IN slot.hashes WHERE p[each] IS NOT NULL | p[each]])),
        texts: [each IN slot.texts WHERE p[each] IS NOT NULL AND NOT (each = 'content' AND 'content' IN p._migratedAdded) | toStringOrNull(p[each])]
    }] AS hashed
WHERE size(hashed) > 0
RETURN place, p.uuid AS uuid, hashed
