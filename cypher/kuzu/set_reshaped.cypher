MERGE (m:GraphmillMeta {key: 'reshaped'}) SET m.number = $number
