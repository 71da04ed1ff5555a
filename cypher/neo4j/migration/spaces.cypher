MATCH (m:GraphmillMeta)
WHERE m.key STARTS WITH 'vectors:' AND m.changing IS NULL AND m.model IS NOT NULL
RETURN m.key AS key, m.provider AS provider, m.model AS model, m.dimension AS dimension
