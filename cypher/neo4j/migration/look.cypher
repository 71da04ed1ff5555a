// The nodes that cannot be decided here: where a stored hash has to be compared with that of the text (there is no sha256 in
// Cypher), those whose vector is kept, of which the hash of the text is noted, and those without an id that could be their uuid.
// Reads only; what comes of it are $stale, $hashes and $ids of apply.
%part rules%
WITH n, place, p, label, NOT %any id|coalesce(size(toStringOrNull(p.@)) > 0, false)% OR place IN $twins AS lacksId,
    hasAny AND goesTo = 'ready' AS keepsVector,
    hasAny AND rule IN ['5-leftover-flag', '7-vectors-complete', '8-nothing-to-embed', '9-structure', '9-no-structure'] AS isDecided
WITH n, place, p, label, lacksId, keepsVector, CASE WHEN isDecided THEN
    [each IN [
        {hash: toStringOrNull(%first nameHashes|p.@%), texts: [%each nameTexts|toStringOrNull(p.@)%]},
        {hash: toStringOrNull(%first contentHashes|p.@%), texts: [%each contentTexts|toStringOrNull(p.@)%]},
        {hash: toStringOrNull(%first descriptionHashes|p.@%), texts: [%each descriptionTexts|toStringOrNull(p.@)%]}
    ] WHERE each.hash IS NOT NULL] ELSE [] END AS hashed
WHERE lacksId OR keepsVector OR size(hashed) > 0
RETURN place, label, lacksId, hashed,
    CASE WHEN keepsVector THEN coalesce(toStringOrNull(p.content), toStringOrNull(%first texts|p.@%), '') END AS text,
    CASE WHEN lacksId THEN
        [each IN keys(n) WHERE NOT each STARTS WITH '_' AND NOT each IN $marks | [each, toStringOrNull(p[each])]] END AS said
