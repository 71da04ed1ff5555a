// Labels beyond graphmill's own whose nodes have a state since a migration; the project is not asked for.
MATCH (m:GraphmillMeta)
WHERE m.key STARTS WITH 'label:' AND $project <> ''
RETURN m.text AS label, $project AS project
