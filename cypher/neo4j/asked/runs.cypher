// The runs of the project, or of one source, the latest first.
MATCH (r:IngestionRun)
WHERE r.projectId = $project AND ($source = '' OR r.source = $source)
  AND (NOT $open OR r._state IN ['pending', 'parsing', 'parsed', 'linking', 'linked', 'embedding'])
RETURN r.uuid AS uuid, r.name AS name, r.source AS source, r.type AS type, r._state AS state, r.`options` AS `options`,
  r._errorMessage AS reason, r.startedAt AS startedAt, r.finishedAt AS finishedAt, r.readAt AS readAt,
  r.watermarkBefore AS watermarkBefore, r.watermarkAfter AS watermarkAfter
ORDER BY startedAt DESC, name DESC
