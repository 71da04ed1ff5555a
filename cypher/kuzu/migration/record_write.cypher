MERGE (m:GraphmillMeta {key: 'migration'}) SET m.text = $text
