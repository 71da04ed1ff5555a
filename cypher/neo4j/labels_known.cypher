// Labels beyond graphmill's own whose nodes have a state since a migration.
MATCH (m:GraphmillMeta {key: 'labels'})
UNWIND m.labels AS label
RETURN label
