MATCH (m:GraphmillMeta) WHERE m.key = 'schema' RETURN m.number
