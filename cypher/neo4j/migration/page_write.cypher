// What a page moved, written with it: validate adds them up.
CREATE (m:GraphmillMeta {key: $key, kind: 'migrated page', rules: $rules})
