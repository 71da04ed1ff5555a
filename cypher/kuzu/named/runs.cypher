// The last twenty runs: what came of each, and how it moved the watermark of its source.
MATCH (r:IngestionRun)
WHERE r.projectId = $project
RETURN r.uuid AS run, r.source AS source, r.type AS type, r.outcome AS outcome, r.startedAt AS startedAt,
    r.finishedAt AS finishedAt, r.watermarkBefore AS watermarkBefore, r.watermarkAfter AS watermarkAfter,
    r._errorMessage AS reason
ORDER BY startedAt DESC, source, run LIMIT 20
