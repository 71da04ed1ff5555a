// How many sources were parsed and linked, and how many texts embedded, in each of the last $seconds, by the store's clock.
// A scan for each stage: with the bounds computed once by a WITH, the engine joins every node with them and takes longer.
MATCH (n:File:Article)
WHERE n.projectId = $project AND n._parsedAt >= CAST(current_timestamp() AS TIMESTAMP) - to_seconds($seconds)
RETURN 'parse' AS stage, date_trunc('second', n._parsedAt) AS second, count(*) AS count, CAST(current_timestamp() AS TIMESTAMP) AS now
UNION ALL
MATCH (n:File:Article)
WHERE n.projectId = $project AND n._linkedAt >= CAST(current_timestamp() AS TIMESTAMP) - to_seconds($seconds)
RETURN 'link' AS stage, date_trunc('second', n._linkedAt) AS second, count(*) AS count, CAST(current_timestamp() AS TIMESTAMP) AS now
UNION ALL
MATCH (n:MarkdownSection:Scope:TextSection:Section:Adopted)
WHERE n.projectId = $project AND n._embeddedAt >= CAST(current_timestamp() AS TIMESTAMP) - to_seconds($seconds)
RETURN 'embed' AS stage, date_trunc('second', n._embeddedAt) AS second, count(*) AS count, CAST(current_timestamp() AS TIMESTAMP) AS now
