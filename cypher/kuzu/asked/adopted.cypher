// Labels beyond graphmill's own whose nodes have a state since a migration: there are none, as a new graph is built.
MATCH (m:GraphmillMeta)
WHERE m.key = 'labels' AND $project <> ''
RETURN m.text AS label, m.text AS project
