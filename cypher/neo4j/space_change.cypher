MATCH (m:GraphmillMeta {key: $key})
SET m.changing = true
