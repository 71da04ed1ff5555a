// Notes labels and relationship types beyond graphmill's own, beside those that are noted already.
MERGE (m:GraphmillMeta {key: 'labels'})
SET m.labels = coalesce(m.labels, []) + [each IN $labels WHERE NOT each IN coalesce(m.labels, [])],
    m.types = coalesce(m.types, []) + [each IN $types WHERE NOT each IN coalesce(m.types, [])]
