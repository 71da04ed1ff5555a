// Moves a page of nodes, in one transaction: what is overwritten is kept under _former_…, what is added is named in
// _migratedAdded, and _migratedBy says which rule it was. Nothing else of a node is changed.
// $hashes are those of the texts whose vectors are kept, by place: see look.
%part rules%
WITH n, place, p, label, rule, goesTo, word, chunks, space, n:Article AS isArticle,
    coalesce($ids[toString(place)], toStringOrNull(%first id|p.@%)) AS uuid,
    any(each IN keys(n) WHERE each STARTS WITH '_') AS hasBookkeeping,
    goesTo = 'ready' AND hasAny AS keepsVector,
    goesTo = 'ready' AND hasAny AND p.embedding IS NULL AND (label IN $searched OR NOT label IN $wholes) AS needsVector,
    [moment IN [%first detected|p.@%, %first changed|p.@%, p._parsedAt, p._linkedAt, p._embeddedAt] | CASE
        WHEN moment IS NULL THEN null
        WHEN moment IS :: ZONED DATETIME THEN moment
        WHEN moment IS :: LOCAL DATETIME THEN datetime({datetime: moment})
        WHEN moment IS :: DATE THEN datetime({date: moment})
        WHEN moment IS :: INTEGER THEN datetime({epochMillis: moment})
        WHEN moment IS :: STRING THEN CASE WHEN moment =~ $moment THEN datetime(moment) END
    END] AS moments,
    CASE WHEN (label IN $searched OR goesTo = 'linked' OR NOT label IN $wholes) AND p.content IS NULL THEN toStringOrNull(%first texts|p.@%) END AS text,
    coalesce(toIntegerOrNull(%first retries|p.@%), 0) AS retries,
    CASE WHEN goesTo = 'error' THEN coalesce($errorTypes[toLower(toStringOrNull(%first errorType|p.@%))], 'parse') END AS errorType,
    CASE WHEN rule = '8-nothing-to-embed' THEN 'there is nothing to embed in it'
        WHEN goesTo IN ['error', 'skip'] THEN toStringOrNull(%first errorMessage|p.@%) END AS errorMessage,
    %first contentHash|p.@% AS contentHash
WHERE uuid IS NOT NULL
WITH *, CASE WHEN keepsVector THEN coalesce(toStringOrNull(%first provider|p.@%), space.provider) END AS provider,
    CASE WHEN keepsVector THEN coalesce(toStringOrNull(%first model|p.@%), space.model) END AS model,
    CASE WHEN keepsVector THEN coalesce($hashes[toString(place)], 'migrated') END AS embeddingHash,
    CASE WHEN needsVector THEN coalesce(%first contentVectors|p.@%, CASE WHEN chunks = 0 THEN %first vectors|p.@% END) END AS own,
    CASE WHEN needsVector AND chunks > 0 THEN COLLECT { MATCH (n)-[r]-(c) WHERE type(r) = $chunkType
        RETURN %first contentVectors|c.@% } ELSE [] END AS pieces,
    [each IN [
        CASE WHEN p.uuid IS NULL THEN 'uuid' END, CASE WHEN p.projectId IS NULL THEN 'projectId' END,
        CASE WHEN p.name IS NULL THEN 'name' END, CASE WHEN text IS NOT NULL THEN 'content' END,
        CASE WHEN p.embedding IS NULL THEN 'embedding' END, %each articleMarks|CASE WHEN isArticle AND p.@ IS NULL THEN '@' END%]
        WHERE each IS NOT NULL] AS added
WITH *, coalesce(own, CASE WHEN size(pieces) > 0 THEN
    [i IN range(0, size(pieces[0]) - 1) | reduce(sum = 0.0, piece IN pieces | sum + piece[i]) / size(pieces)] END) AS vector
FOREACH (_ IN CASE WHEN hasBookkeeping THEN [1] ELSE [] END |
    SET n += {%each bookkeeping|_former_@: p.@%}
    SET n += {%each bookkeeping|@: null%}
    SET n += {_parsedAt: moments[2], _linkedAt: moments[3], _embeddedAt: moments[4]})
FOREACH (_ IN CASE WHEN isArticle THEN [1] ELSE [] END |
    SET n += {%each articleMarks|_former_@: p.@%}
    SET n.expansion_state = $expansionStates[goesTo])
FOREACH (_ IN CASE WHEN any(each IN added WHERE each IN ['uuid', 'name', 'content']) OR vector IS NOT NULL OR NOT p.uuid IS :: STRING OR p.uuid <> uuid THEN [1] ELSE [] END |
    SET n._former_uuid = CASE WHEN p.uuid <> uuid OR NOT p.uuid IS :: STRING THEN p.uuid END
    SET n += {
        uuid: uuid, name: coalesce(p.name, toStringOrNull(%first name|p.@%), uuid),
        content: coalesce(p.content, text), embedding: coalesce(p.embedding, vector)
    })
FOREACH (_ IN CASE WHEN hasBookkeeping OR keepsVector OR contentHash IS NOT NULL OR goesTo IN ['error', 'skip'] THEN [1] ELSE [] END |
    SET n += {
        _errorType: errorType, _errorClass: CASE WHEN goesTo = 'error' THEN 'transient' END, _errorMessage: errorMessage,
        _contentHash: contentHash, _embeddingProvider: provider, _embeddingModel: model, _embeddingHash: embeddingHash
    })
SET n.projectId = coalesce(p.projectId, $home), n._state = goesTo, n._depth = 0, n._retryCount = retries,
    n._detectedAt = coalesce(moments[0], moments[1], $now), n._stateChangedAt = coalesce(moments[1], moments[0], $now),
    n._migratedBy = rule, n._migratedAdded = added
RETURN rule, label, goesTo AS to, CASE WHEN rule = '10-unknown-word' THEN word END AS unknown, coalesce(p.projectId, $home) AS project,
    count(*) AS count, null AS least, null AS most, sum(CASE WHEN keepsVector THEN 1 ELSE 0 END) AS kept
