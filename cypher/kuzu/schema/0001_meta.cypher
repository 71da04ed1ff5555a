// graphmill's own facts about this database: the schema's version, the number of the last commit, the vector space.
CREATE NODE TABLE IF NOT EXISTS GraphmillMeta(key STRING PRIMARY KEY, number INT64, text STRING);
MERGE (m:GraphmillMeta {key: 'commit'}) ON CREATE SET m.number = 0;
