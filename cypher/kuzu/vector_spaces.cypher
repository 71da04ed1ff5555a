MATCH (m:GraphmillMeta) WHERE m.key STARTS WITH 'vectors:' RETURN m.key, m.number, m.text
