// The runs over a source that have a watermark.
MATCH (r:IngestionRun)
WHERE r.projectId = $project AND r.source = $source AND r.watermarkAfter IS NOT NULL
RETURN r.uuid AS uuid
ORDER BY uuid
