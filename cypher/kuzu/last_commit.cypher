MATCH (m:GraphmillMeta) WHERE m.key = 'commit' RETURN m.number
