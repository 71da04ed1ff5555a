MATCH (m:GraphmillMeta {key: $key})
SET m.provider = $provider, m.model = $model, m.dimension = $dimension
REMOVE m.changing
