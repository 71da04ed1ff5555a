// Whether nodes of this database were made of tables with marks by a migration; no row where none were.
MATCH (m:GraphmillMeta)
WHERE m.key STARTS WITH 'label:' AND $project <> ''
RETURN m.key AS key, m.text AS project LIMIT 1
