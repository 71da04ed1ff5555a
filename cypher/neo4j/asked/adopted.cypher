// Labels beyond graphmill's own whose nodes have a state since a migration; the project is not asked for.
MATCH (m:GraphmillMeta {key: 'labels'})
UNWIND m.labels AS label
RETURN label AS label, $project AS project
