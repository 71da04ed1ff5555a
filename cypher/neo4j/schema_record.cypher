// Two processes may migrate at once: the version never goes back.
MERGE (m:GraphmillMeta {key: 'schema'})
SET m.number = CASE WHEN m.number > $version THEN m.number ELSE $version END
