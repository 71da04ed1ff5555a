// Labels beyond graphmill's own whose nodes have a state since a migration, beside those of earlier ones in other projects.
MERGE (m:GraphmillMeta {key: 'labels'})
SET m.labels = coalesce(m.labels, []) + [each IN $labels WHERE NOT each IN coalesce(m.labels, [])]
