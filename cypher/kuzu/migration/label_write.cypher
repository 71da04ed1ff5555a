MERGE (m:GraphmillMeta {key: $key}) SET m.text = $text
