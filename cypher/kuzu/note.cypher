MATCH (m:GraphmillMeta) WHERE m.key = $key RETURN m.text
