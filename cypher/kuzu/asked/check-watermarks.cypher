// Every run that has a watermark, in pages by uuid.
MATCH (r:IngestionRun)
WHERE r.projectId = $project AND r.uuid > $after AND r.watermarkAfter IS NOT NULL
RETURN r.uuid AS uuid, r.source AS source, r._state AS state, r.startedAt AS startedAt, r.finishedAt AS finishedAt,
  r.watermarkBefore AS before, r.watermarkAfter AS after
ORDER BY uuid LIMIT $limit
