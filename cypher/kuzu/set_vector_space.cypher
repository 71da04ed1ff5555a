MERGE (m:GraphmillMeta {key: $key}) SET m.number = $dimension, m.text = $text
