MATCH (m:GraphmillMeta) WHERE m.key = 'commit' SET m.number = $number RETURN m.number
