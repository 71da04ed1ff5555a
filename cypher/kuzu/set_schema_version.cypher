MERGE (m:GraphmillMeta {key: 'schema'}) SET m.number = $number
