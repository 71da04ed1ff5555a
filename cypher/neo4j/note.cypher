MATCH (m:GraphmillMeta {key: $key})
RETURN m.text AS text
