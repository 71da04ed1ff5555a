// Labels beyond graphmill's own whose nodes have a state since a migration.
MERGE (m:GraphmillMeta {key: 'labels'})
SET m.labels = $labels
