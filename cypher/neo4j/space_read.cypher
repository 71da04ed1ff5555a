MATCH (m:GraphmillMeta {key: $key})
RETURN m.provider AS provider, m.model AS model, m.dimension AS dimension, m.changing AS changing
