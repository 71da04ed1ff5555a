// How many sources were parsed and linked, how many texts embedded, and how many nodes came to rest
// in the last $seconds, and since when, by the store's clock.
// A scan for each stage: with the bounds computed once by a WITH, the engine joins every node with them and takes longer.
MATCH (n:File:Article)
WHERE n.projectId = $project AND n._parsedAt >= CAST(current_timestamp() AS TIMESTAMP) - to_seconds($seconds)
RETURN 'parse' AS stage, count(*) AS count, min(n._parsedAt) AS since, CAST(current_timestamp() AS TIMESTAMP) AS now
UNION ALL
MATCH (n:File:Article)
WHERE n.projectId = $project AND n._linkedAt >= CAST(current_timestamp() AS TIMESTAMP) - to_seconds($seconds)
RETURN 'link' AS stage, count(*) AS count, min(n._linkedAt) AS since, CAST(current_timestamp() AS TIMESTAMP) AS now
UNION ALL
MATCH (n:MarkdownSection:Scope:TextSection:Section:Adopted)
WHERE n.projectId = $project AND n._embeddedAt >= CAST(current_timestamp() AS TIMESTAMP) - to_seconds($seconds)
RETURN 'embed' AS stage, count(*) AS count, min(n._embeddedAt) AS since, CAST(current_timestamp() AS TIMESTAMP) AS now
UNION ALL
MATCH (n:File:Directory:MarkdownSection:Scope:TextSection:Chunk:Article:Section:Category:Wiki:Adopted)
WHERE n.projectId = $project AND n._stateChangedAt >= CAST(current_timestamp() AS TIMESTAMP) - to_seconds($seconds)
  AND n._state IN ['ready', 'skip', 'error']
RETURN 'rest' AS stage, count(*) AS count, min(n._stateChangedAt) AS since, CAST(current_timestamp() AS TIMESTAMP) AS now
