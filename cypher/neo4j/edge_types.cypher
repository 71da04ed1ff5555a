// The relationship types of graphmill's schema, and those that came with labels of a migration: this engine has no place to
// declare them, and makes a new one of a typo.
OPTIONAL MATCH (m:GraphmillMeta {key: 'labels'})
UNWIND [
    'CONSUMES', 'DEFINED_IN', 'HAS_CHUNK', 'HAS_PARENT', 'HAS_PARTITION', 'HAS_SECTION', 'IN_CATEGORY', 'IN_DIRECTORY',
    'LINKS_TO', 'REDIRECTS_TO'
] + coalesce(m.types, []) AS type
RETURN DISTINCT type
